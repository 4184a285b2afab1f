"""`gaelp up` and `gaelp down`: server, UI and scheduled deployments in one command."""

import os
import signal
import time
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from flows.environment import for_server, prefect_home, settle
from flows.standing_up import Up, standing, who_is_up
from gaelp.cli.options import ConfigOption, SetOption
from gaelp.cli.output import say, show_text
from gaelp.cli.startup import prepare
from gaelp.config.environment import process_environment
from gaelp.config.settings import Settings
from gaelp.errors import GaelpError

__all__ = ["STOP_S", "down", "up"]

STOP_S = 60
_RUNS_AT_ONCE = 4


def up(
    config: ConfigOption = "quick-test",
    port: Annotated[
        int, typer.Option("--port", min=1, max=65535, help="Of the server, if one has to be started.")
    ] = 4200,
    cron: Annotated[str, typer.Option("--cron", help="When the pipeline runs by itself, in UTC.")] = "0 6 * * 1",
    overrides: SetOption = None,
) -> None:
    """Start what the pipeline needs and serve it until Ctrl-C: server, UI, schedules, the emergency stop over HTTP.

    - `gaelp up`, then in another terminal `export PREFECT_API_URL=http://127.0.0.1:4200/api` and
      `prefect deployment run gaelp/full-pipeline`

    - `gaelp gate list`: what waits for a person

    A server that answers already is used as it is: the one PREFECT_API_URL names, or one on this machine. Calling it a
    second time changes nothing. Ctrl-C or `gaelp down` stops what was started here; suspended runs wait on.
    """
    settings = prepare(config, overrides).settings
    home, money = settings.home, settings.api
    environ = process_environment()
    api_url = environ.get("PREFECT_API_URL") or f"http://127.0.0.1:{port}/api"
    settle(environ, for_server(home, api_url))
    deployed = {"config": config or "base", "overrides": overrides or [], "cron": cron}
    with standing(home, api_url, f"http://{money.host}:{money.port}") as here:
        if here is None:
            _tell(who_is_up(home), "is up already")
            return
        _serve(here, settings, deployed)


def _serve(here: Up, settings: Settings, told: Mapping[str, Any]) -> None:
    from flows.server import running_server  # noqa: PLC0415 - takes a moment that `--help` need not spend
    from gaelp.api import serving  # noqa: PLC0415 - as above

    say(f"looking for a Prefect server at {here.api_url} ...")
    signal.signal(signal.SIGTERM, _stop_like_ctrl_c)
    with serving(settings), running_server(here.api_url, settings.home, process_environment()) as started:
        from prefect import serve  # noqa: PLC0415 - reads the environment when it is imported

        from flows.crash_watch import watching_for_crashes  # noqa: PLC0415 - as above
        from flows.deployments import deployments  # noqa: PLC0415 - as above

        _tell(here, "runs a server of its own; it is up" if started else "found a server; it is up")
        with watching_for_crashes():
            serve(
                *deployments(**told),
                pause_on_shutdown=False,
                print_starting_message=False,
                limit=_RUNS_AT_ONCE,
            )


def _tell(here: Up | None, how: str) -> None:
    if here is None:
        raise GaelpError("another `gaelp up` just stopped: try again")
    show_text(
        f"GAELP {how} (process {here.pid}).\n"
        f"  UI     {here.ui_url}\n"
        f"  API    {here.api_url}\n"
        f"  begin  PREFECT_API_URL={here.api_url} prefect deployment run gaelp/full-pipeline\n"
        "  gates  gaelp gate list\n"
        f"  money  {here.money_url}/metrics; POST to {here.money_url}/kill stops all spending, as gaelp kill does\n"
        "  stop   Ctrl-C, or gaelp down"
    )


def _stop_like_ctrl_c(_signal_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def down(config: ConfigOption = "quick-test", overrides: SetOption = None) -> None:
    """Stop what `gaelp up` started: runs at work are stopped and can be resumed, suspended ones wait on."""
    home = prepare(config, overrides).settings.home
    here = who_is_up(home)
    if here is None:
        show_text("Nothing is up.")
        return
    os.kill(here.pid, signal.SIGTERM)
    begun = time.monotonic()
    while who_is_up(home) is not None:
        if time.monotonic() - begun > STOP_S:
            raise GaelpError(
                f"process {here.pid} has not stopped in {STOP_S} s: look at {prefect_home(home)}/server.log"
            )
        time.sleep(0.2)
    show_text(f"Stopped process {here.pid}.")
