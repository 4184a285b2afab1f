"""`gaelp up` and `gaelp down`: server, UI and scheduled deployments in one command."""

import os
import shlex
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.connection import is_own
from flows.environment import prefect_home
from flows.home_secret import home_id, password_file
from flows.server import choose_api_url, running_server
from flows.server_record import Up, claimed, running
from gaelp.api import address, serving, with_free_port
from gaelp.cli.interruption import ctrl_c_ends
from gaelp.cli.options import ConfigOption, SetOption
from gaelp.cli.output import say, show_paragraph, show_text
from gaelp.cli.startup import prepare_reading, prepare_run
from gaelp.config.environment import process_environment
from gaelp.config.layers import LoadedSettings
from gaelp.config.private_files import make_private_folder
from gaelp.config.settings import Settings
from gaelp.errors import GaelpError

__all__ = ["STOP_S", "down", "up"]

_COMMANDS = ("export ", "prefect ", "gaelp ")

STOP_S = 120  # a run at work has half a minute to end, on a busy machine more


def up(
    config: ConfigOption = "quick-test",
    port: Annotated[
        int | None,
        typer.Option("--port", min=1, max=65535, help="Of the server.", show_default="4200, or a free one"),
    ] = None,
    cron: Annotated[str, typer.Option("--cron", help="When the pipeline runs by itself, in UTC.")] = "0 6 * * 1",
    overrides: SetOption = None,
) -> None:
    """Start what the pipeline needs and serve it until Ctrl-C: server, UI, schedules, the emergency stop over HTTP.

    - `gaelp up`: prints how to log in to the UI and how to start a run

    - `gaelp gate list`: what waits for a person

    The server is this home's own, with a password in a private file, and listens to this machine alone; where port 4200
    or api.port as shipped is in use, by another home or another program, a free one is taken and printed.
    PREFECT_API_URL names a shared server instead.
    Runs take the config `quick-test` unless `--config` names another: minutes long, without signatures, to try things
    out. Use `--config production` where verdicts lead to money, as prefect.yaml does for teams.
    Calling it a second time changes nothing. Ctrl-C or `gaelp down` stops it; suspended runs stay suspended.
    """
    loaded = prepare_run(config, overrides)
    home = loaded.settings.home
    make_private_folder(prefect_home(home))
    api_url = choose_api_url(home, process_environment(), port)
    deployed = {"config": config or "base", "overrides": overrides or [], "cron": cron}
    settings = loaded.settings if running(home) else _with_free_api_port(loaded)
    with claimed(home, api_url, address(settings.api)) as here:
        if here is None:
            _show(running(home), home, "is up already")
            return
        _serve(here, settings, deployed)


def _with_free_api_port(loaded: LoadedSettings) -> Settings:
    """A port that the user named is kept; the shipped one gives way to another home or program that uses it."""
    shipped = loaded.settings.api
    if loaded.origins["api.port"].layer != "base":
        return loaded.settings
    chosen = with_free_port(shipped)
    if chosen != shipped:
        say(
            f"port {shipped.port} is in use, by another home or another program: the emergency stop and the figures"
            f" take port {chosen.port} (also in {shlex.quote(str(prefect_home(loaded.settings.home) / 'up.json'))})"
        )
    return loaded.settings.model_copy(update={"api": chosen})


def _serve(here: Up, settings: Settings, deployed: Mapping[str, Any]) -> None:
    home = settings.home
    say(f"starting at {here.api_url} ...")
    ctrl_c_ends("gaelp up")
    signal.signal(signal.SIGTERM, _stop_like_ctrl_c)
    with serving(settings), running_server(here.api_url, home, process_environment()) as own:
        from flows.deployments import serve_deployments  # noqa: PLC0415 - Prefect reads the environment when imported

        _show(here, home, "is up on its own server" if own else "is up on a shared server")
        serve_deployments(settings, **deployed, shared_as=None if own else home_id(home))


def _show(here: Up | None, home: Path, how: str) -> None:
    if here is None:
        raise GaelpError("another `gaelp up` just stopped: try again")
    show_text(f"GAELP {how} (process {here.pid}).")
    for label, text in (
        ("UI", here.ui_url),
        ("API", here.api_url),
        *_login(here, home),
        ("gates", "gaelp gate list"),
        ("money", f"{here.money_url}/metrics has the figures"),
        ("", f"POST to {here.money_url}/kill stops all spending, as gaelp kill does"),
        ("stop", "Ctrl-C, or gaelp down"),
    ):
        line = f"  {label:<6} {text}"
        if text.startswith(_COMMANDS):
            show_text(line)  # whole, so that it can be copied
        else:
            show_paragraph(line, indent=" " * 7 if label else "")


def _login(here: Up, home: Path) -> tuple[tuple[str, str], ...]:
    """How to log in and start a run, one command a line; the password itself is never printed."""
    if not is_own(here.api_url, home):
        return (("begin", f"prefect deployment run gaelp/full-pipeline-{home_id(home)}"),)
    file = shlex.quote(str(password_file(home)))
    return (
        ("login", f"{here.ui_url}/login asks for a password: it is the line in {file}"),
        ("begin", f"export PREFECT_API_URL={here.api_url}"),
        ("", f'export PREFECT_API_AUTH_STRING="$(cat {file})"'),
        ("", "prefect deployment run gaelp/full-pipeline"),
    )


def _stop_like_ctrl_c(_signal_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def down(config: ConfigOption = "quick-test", overrides: SetOption = None) -> None:
    """Stop what `gaelp up` started: runs at work are stopped and can be resumed, suspended ones stay suspended."""
    home = prepare_reading(config, overrides, in_home=True).settings.home
    here = running(home)
    if here is None:
        show_text("Nothing is up.")
        return
    os.kill(here.pid, signal.SIGTERM)
    begun = time.monotonic()
    while running(home) is not None:
        if time.monotonic() - begun > STOP_S:
            raise GaelpError(
                f"process {here.pid} has not stopped in {STOP_S} s: look at {prefect_home(home)}/server.log"
            )
        time.sleep(0.2)
    show_text(f"Stopped process {here.pid}.")
