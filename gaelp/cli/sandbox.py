"""`gaelp sandbox`: start and stop the local ad platform of a home, let its time pass, begin again."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from gaelp.cli.interruption import ctrl_c_ends
from gaelp.cli.options import JsonOption, SetOption
from gaelp.cli.output import say, show_json, show_text
from gaelp.cli.startup import prepare, prepare_reading
from gaelp.config import names_in
from gaelp.config.places import absolute
from gaelp.database import DatabaseDamaged
from gaelp.errors import BadInput
from gaelp.sandbox.control_client import SandboxHandle, connect_sandbox
from gaelp.sandbox.control_messages import SandboxStatus
from gaelp.sandbox.front import FRONTS
from gaelp.sandbox.process_record import running_record
from gaelp.sandbox.sales_csv import write_sales
from gaelp.sandbox.sandbox_process import CONTROL, StartOptions, check_options, serve_sandbox
from gaelp.sandbox.spec import SandboxSpec, load_sandbox_spec
from gaelp.sandbox.start_process import LOG_NAME, start_sandbox
from gaelp.sandbox.world import check_world
from gaelp.sandbox.world_reset import begin_again, has_world

__all__ = ["FOLDER_NAME", "advance", "app", "reset", "sales", "start", "status", "stop"]

app = typer.Typer(
    no_args_is_help=True, help="A local ad platform with simulated users, time and money, for real API clients."
)

FOLDER_NAME = "sandbox"  # below the home
_DURATION = re.compile(r"(\d{1,6})([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_A_YEAR = timedelta(days=365)
_SPEED_HELP = "Simulated seconds per second: 1 to 100000, or 0 for a clock that moves only with `advance`."


def _complete_world(incomplete: str) -> list[str]:
    return [name for name in names_in("sandbox") if name.startswith(incomplete)]


_WorldOption = Annotated[
    str | None,
    typer.Option(
        "--config",
        "-c",
        metavar="NAME|PATH",
        help="A new world's configuration: a name from configs/sandbox/ or the path of a YAML file.",
        autocompletion=_complete_world,
        show_default="the world that is there, else default",
    ),
]
_SeedOption = Annotated[
    int | None, typer.Option("--seed", min=0, help="What a new world is drawn from.", show_default="of the config")
]


@app.command()
def start(
    config: _WorldOption = None,
    seed: _SeedOption = None,
    speed: Annotated[float, typer.Option("--speed", help=_SPEED_HELP)] = 0.0,
    fronts: Annotated[
        list[str] | None,
        typer.Option("--front", help=f"Start only this API; may be repeated: {', '.join(FRONTS)}."),
    ] = None,
    ports: Annotated[
        list[str] | None,
        typer.Option(
            "--port", metavar="FRONT=PORT", help="A port of your choice, such as google=8443.", show_default="free ones"
        ),
    ] = None,
    foreground: Annotated[bool, typer.Option("--foreground", help="Stay in this terminal until Ctrl-C.")] = False,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Start the local ad platform of this home, on free ports of this machine.

    - `gaelp sandbox start`: the clock is stopped; `gaelp sandbox advance 6h` lets time pass

    - `gaelp sandbox start --speed 3600`: an hour of the platform passes in a second

    - `gaelp sandbox start --config default --seed 7 --port google=8443`: another world, at a port you know

    It continues the world that is in the home, wherever that was stopped or killed; `gaelp sandbox reset` begins
    again. Point the official client of a platform at the printed address, with the printed certificate: see
    docs/sandbox.md.
    """
    folder = _folder(prepare(None, overrides).settings.home)
    options = StartOptions(
        spec=_spec(folder, config, seed),
        speed=speed,
        fronts=tuple(fronts or FRONTS),
        ports=_ports(ports or ()),
    )
    check_options(options)
    if foreground:
        ctrl_c_ends("the sandbox")
        serve_sandbox(folder, options, when_up=lambda _: _show_running(folder, as_json=as_json))
        return
    say("starting the sandbox; the very first start compiles its auctions, which takes a minute ...")
    with start_sandbox(folder, options) as handle:
        _show(handle.status(), as_json=as_json)


@app.command()
def stop(overrides: SetOption = None) -> None:
    """Stop the sandbox; its world is kept, and `gaelp sandbox start` continues it.

    **Example**: `gaelp sandbox stop`
    """
    folder = _folder(prepare_reading(None, overrides, in_home=True).settings.home)
    record = running_record(folder)
    if record is None:
        show_text("No sandbox runs here.")
        return
    SandboxHandle(folder, record).stop()
    show_text(f"Stopped process {record.pid}.")


@app.command()
def status(overrides: SetOption = None, as_json: JsonOption = False) -> None:
    """Show where the sandbox is: its time and speed, its accounts, and where its APIs answer.

    **Example**: `gaelp sandbox status --json`

    Exit code 1: none runs, and its world is damaged, so that `gaelp sandbox start` would refuse it.
    """
    folder = _folder(prepare_reading(None, overrides, in_home=True).settings.home)
    if running_record(folder) is None:
        _show_stopped(folder, as_json=as_json)
        return
    with connect_sandbox(folder) as handle:
        _show(handle.status(), as_json=as_json)


@app.command()
def advance(
    duration: Annotated[
        str | None, typer.Argument(metavar="[DURATION]", help="Such as 30m, 6h, 2d or 1w.", show_default=False)
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="INSTANT", help="Such as 2026-10-01 or 2026-10-01T12:00, by the account's clock."),
    ] = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let simulated time pass, and return when it has.

    - `gaelp sandbox advance 6h`

    - `gaelp sandbox advance --to 2026-10-01`: to midnight of the account

    The platform serves, clicks are billed and reports catch up as they would in that time.
    """
    folder = _folder(prepare_reading(None, overrides, in_home=True).settings.home)
    with connect_sandbox(folder) as handle:
        if (duration is None) == (to is None):
            raise BadInput("say how far: a duration such as 6h, or --to INSTANT, and not both")
        if duration is not None:
            handle.advance_by(int(_duration(duration).total_seconds()))
        elif to is not None:
            handle.advance(_instant(to, ZoneInfo(handle.status().time_zone)))
        now = handle.status()
    if as_json:
        show_json(now.model_dump(mode="json"))
    else:
        show_text(f"It is {_clock_text(now)}.")


@app.command()
def sales(
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The CSV file to write; it must not exist.")],
    first: Annotated[
        datetime | None,
        typer.Option("--from", formats=["%Y-%m-%d"], help="First day of the clicks.", show_default="a year ago there"),
    ] = None,
    last: Annotated[
        datetime | None, typer.Option("--to", formats=["%Y-%m-%d"], help="Last day.", show_default="today there")
    ] = None,
    account: Annotated[
        str | None, typer.Option("--account", help="A customer or Meta account.", show_default="the first customer")
    ] = None,
    overrides: SetOption = None,
) -> None:
    """Write the sales of the shop behind the adverts, with refunds, as the shop's own system has them.

    - `gaelp sandbox sales --out sales.csv`

    - `gaelp data import sales.csv --mapping configs/pilot/sales.yaml --phase pilot` stores them as the sales feed of a
      pilot. A sale that was sent back has a second row, of value 0.
    """
    folder = _folder(prepare_reading(None, overrides, in_home=True).settings.home)
    with connect_sandbox(folder) as handle:
        now = handle.status()
        today = now.now.astimezone(ZoneInfo(now.time_zone)).date()
        begin = first.date() if first else today - _A_YEAR
        rows = handle.sales(begin, last.date() if last else today, account=account)
    write_sales(absolute(out), rows)
    show_text(f"{len(rows)} sales, {sum(sale.refunded_at is not None for sale in rows)} of them sent back: {out}")


@app.command()
def reset(
    config: _WorldOption = None,
    seed: _SeedOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Yes, delete what is there.")] = False,
    overrides: SetOption = None,
) -> None:
    """Forget the world with everything in it, and begin again at its start.

    - `gaelp sandbox reset --yes`: the same world from its beginning

    - `gaelp sandbox reset --seed 8 --yes`: one that is drawn from another seed

    A sandbox that runs keeps running, with its clock stopped. One whose file is damaged is replaced.
    """
    folder = _folder(prepare(None, overrides).settings.home)
    if not yes:
        raise BadInput(
            f"this deletes all campaigns, clicks and invoices of the sandbox in {folder}: repeat it with --yes"
        )
    spec = None if config is None else load_sandbox_spec(config)
    if running_record(folder) is None:
        begin_again(folder, spec=spec, seed=seed)
        show_text("The world is as new; `gaelp sandbox start` starts it.")
        return
    with connect_sandbox(folder) as handle:
        handle.reset(seed=seed, spec=spec)
        _show(handle.status(), as_json=False)


def _folder(home: Path) -> Path:
    return absolute(home) / FOLDER_NAME


def _spec(folder: Path, config: str | None, seed: int | None) -> SandboxSpec | None:
    """The world that was asked for; None continues the one that is there."""
    if config is None and seed is None and has_world(folder):
        return None
    spec = load_sandbox_spec(config or "default")
    return spec if seed is None else spec.model_copy(update={"seed": seed})


def _ports(given: Sequence[str]) -> dict[str, int]:
    names = (*FRONTS, CONTROL)
    ports = {}
    for text in given:
        name, _, port = text.partition("=")
        if name not in names or not (port.isdecimal() and 0 < int(port) < 65536):
            raise BadInput(f"--port {text}: give {' or '.join(names)} and a port from 1 to 65535, such as google=8443")
        ports[name] = int(port)
    return ports


def _duration(text: str) -> timedelta:
    parts = _DURATION.fullmatch(text)
    if parts is None:
        raise BadInput(f"{text!r} is no duration: give a number and m, h, d or w, such as 30m, 6h, 2d or 1w")
    return timedelta(**{_UNITS[parts[2]]: int(parts[1])})


def _instant(text: str, zone: ZoneInfo) -> datetime:
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise BadInput(f"--to {text}: give a day or an instant such as 2026-10-01 or 2026-10-01T12:00") from None
    return instant if instant.tzinfo is not None else instant.replace(tzinfo=zone)


def _clock_text(status: SandboxStatus) -> str:
    local = status.now.astimezone(ZoneInfo(status.time_zone))
    return f"{local:%A, %Y-%m-%d %H:%M} in {status.time_zone} ({status.now:%Y-%m-%dT%H:%M:%SZ})"


def _show_running(folder: Path, *, as_json: bool) -> None:
    with connect_sandbox(folder) as handle:
        _show(handle.status(), as_json=as_json)


def _show_stopped(folder: Path, *, as_json: bool) -> None:
    damage = _damage(folder)
    if as_json:
        said = None if damage is None else str(damage)
        show_json({"folder": str(folder), "running": False, "has_world": has_world(folder), "damage": said})
    if damage is not None:
        raise damage
    if as_json:
        return
    if has_world(folder):
        show_text("No sandbox runs here; `gaelp sandbox start` continues the world that is there.")
    else:
        show_text("There is no sandbox here yet; `gaelp sandbox start` makes one.")


def _damage(folder: Path) -> DatabaseDamaged | None:
    """Why a start would refuse the world that is there."""
    try:
        check_world(folder)
    except DatabaseDamaged as damage:
        return damage
    return None


def _show(status: SandboxStatus, *, as_json: bool) -> None:
    if as_json:
        show_json({"running": True, **status.model_dump(mode="json")})
        return
    pace = f"runs at {status.speed:g} times wall time" if status.speed else "is stopped (`gaelp sandbox advance 6h`)"
    barrier = f", up to {status.barrier:%Y-%m-%dT%H:%M:%SZ}" if status.barrier else ""
    show_text(f"The sandbox runs (process {status.pid}, seed {status.seed}).")
    rows = [
        ("time", _clock_text(status)),
        ("clock", f"{pace}{barrier}"),
        *((name, f"127.0.0.1:{port}") for name, port in status.ports.items()),
        ("certificate", status.certificate_path),
        ("customers", f"{', '.join(status.customer_ids)}; manager {status.manager_customer_id}; in {status.currency}"),
        ("meta accounts", ", ".join(f"act_{account}" for account in status.meta_account_ids)),
        ("log", str(Path(status.folder) / LOG_NAME)),
    ]
    for label, text in rows:
        show_text(f"  {label:<14} {text}")
    if status.failure:
        say(f"time has stopped by itself: {status.failure}")
