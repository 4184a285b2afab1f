"""`gaelp bench`: measure this machine; one JSON object, peers in the same run where they are installed."""

from typing import TYPE_CHECKING, Annotated

import typer

from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, show_json, show_table
from gaelp.cli.startup import prepare
from gaelp.config.places import absolute, repository_root

if TYPE_CHECKING:
    from gaelp.bench.ledger_speed import Figures
    from gaelp.bench.training_speed import TrainSpeed

__all__ = ["app", "ledger", "market", "train"]

app = typer.Typer(no_args_is_help=True, help="Measure this machine, with peers in the same run where installed.")


@app.command("market")
def market(
    config: ConfigOption = None,
    overrides: SetOption = None,
    name: Annotated[str, typer.Option("--market", help="The market to time; `full` has every mechanism on.")] = "full",
    quick: Annotated[bool, typer.Option("--quick", help="Only the headline batch, without peers.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Campaign-hours per CPU-second on one core, memory per campaign, and how both grow with the batch.

    Peers (RTBGym, a plain auction loop) are measured in turns with it once `make bench-peers` has built them;
    the ratios are medians over the turns.

    - `gaelp bench market --json`

    - `gaelp bench market --market cal --quick`
    """
    from gaelp.bench.market_speed import measure_market  # noqa: PLC0415 - numba takes a second `--help` need not spend
    from gaelp.market.build import build_market, configured_personas, load_market_spec  # noqa: PLC0415 - as above

    settings = prepare(config, overrides).settings
    timed = build_market(load_market_spec(name), configured_personas(settings))
    say(f"Timing market {name}: {timed.spec.segments} segments, {timed.hours} hours, one core ...")
    speed = measure_market(timed, repository_root() / "bench", quick=quick, report=say)
    if as_json:
        show_json(speed.figures())
        return
    rows = [
        (
            f"{batch.campaigns:,}",
            f"{batch.campaign_steps_per_s:,.0f}",
            f"{batch.env_steps_per_s:,.0f}",
            f"{batch.bytes_per_campaign:,.0f}",
        )
        for batch in speed.by_campaigns
    ]
    show_table(("campaigns", "market, hours/s", "with vectors, hours/s", "bytes a campaign"), rows)
    for peer, turns in speed.peers.items():
        say(f"{peer}: " + (f"ratio {turns.ratio:,.0f}" if turns else "not measured (make bench-peers)"))


@app.command("ledger")
def ledger(
    config: ConfigOption = None,
    overrides: SetOption = None,
    transfers: Annotated[
        int, typer.Option("--transfers", min=8, max=1_000_000, help="How many on each database, by one process.")
    ] = 2000,
    as_json: JsonOption = False,
) -> None:
    """Two-phase transfers per second under four caps each: SQLite and Postgres, one process and eight.

    SQLite is on the disk of the home folder and waits for it at every commit. Postgres is measured if the extra `dev`
    is installed, which brings one. The books of each run have to balance.

    - `gaelp bench ledger --json`

    - `gaelp bench ledger --transfers 200`
    """
    from gaelp.bench.ledger_speed import measure_ledger  # noqa: PLC0415 - sqlalchemy takes time `--help` need not spend

    home = absolute(prepare(config, overrides).settings.home)
    say(f"Timing {transfers} transfers on each database below {home} ...")
    found = measure_ledger(home, transfers=transfers, report=say)
    if as_json:
        show_json(found.model_dump(mode="json"))
        return
    measured: dict[str, Figures] = {"SQLite, 1 process": found, "SQLite, 8 processes": found.eight_processes}
    if found.postgres is not None:
        measured |= {"Postgres, 1 process": found.postgres, "Postgres, 8 processes": found.postgres.eight_processes}
    columns = ("two-phase transfers, 4 caps", "per second", "p50 ms", "p99 ms", "max ms")
    rows = [
        (name, f"{one.transfers_per_s:,.0f}", f"{one.p50_ms:.2f}", f"{one.p99_ms:.2f}", f"{one.max_ms:.1f}")
        for name, one in measured.items()
    ]
    show_table(columns, rows)
    say(f"The disk took {found.disk_syncs_per_s:,.0f} writes a second for good; a transfer needs two of them.")


@app.command("train")
def train(
    config: ConfigOption = None,
    overrides: SetOption = None,
    cap_seconds: Annotated[
        float | None,
        typer.Option(
            "--cap-seconds",
            min=0.1,
            help="Of training, after which a race is given up.",
            show_default="600; 10 with --quick",
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="See that it works: a few frames, no true figures.")] = False,
    as_json: JsonOption = False,
) -> None:
    """PPO on one core: frames per CPU-second, the share of the matmul limit, and the time to learn a market.

    stable-baselines3 is measured in the same run if it is installed (the extra `bench`): first with the same network,
    minibatches and epochs on the same environment; then, with its default settings, in a race to half of the way from a
    constant bid to the optimum on market `signals`, where ours starts without a heuristic inside too. A peer that is
    not there by the cap counts with the cap. Expect a quarter of an hour.

    - `gaelp bench train --json`

    - `gaelp bench train --cap-seconds 120`
    """
    from gaelp.bench.training_speed import FULL, QUICK, measure_training  # noqa: PLC0415 - torch takes seconds
    from gaelp.market.build import configured_personas  # noqa: PLC0415 - as above

    settings = prepare(config, overrides).settings
    sizes = QUICK if quick else FULL
    personas = configured_personas(settings)
    result = measure_training(settings.market.name, personas, sizes, cap_seconds or sizes.cap_seconds, say)
    if as_json:
        show_json(result.model_dump(mode="json"))
    else:
        _show_training(result)


def _show_training(result: "TrainSpeed") -> None:
    frames, matmul, race = result.frames, result.matmul, result.race
    rows = [
        (
            "frames per CPU-second",
            f"{frames.ours_per_s:,.0f}",
            _figure(frames.peer_per_s, ",.0f"),
            _ratio(frames.ratio),
        ),
        (
            f"seconds to reward {race.target_reward:.3f} on {race.market}",
            ", ".join(f"{one.seconds:.1f}" if one.reached else "not reached" for one in race.ours),
            "-" if race.sb3 is None else f"{race.sb3.seconds:.0f}" + ("" if race.sb3.reached else ", not reached"),
            ("" if result.sb3_reached else "at least ") + _ratio(race.ratio) if race.ratio else "-",
        ),
        ("share of the matmul limit in updates", f"{matmul.fraction:.0%}", "-", "-"),
    ]
    show_table(("PPO, one core", "ours", "stable-baselines3", "ratio"), rows)


def _figure(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _ratio(value: float | None) -> str:
    return _figure(value, ".2f")
