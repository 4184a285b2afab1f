"""`gaelp alerts`: which critical alerts wait for an answer, the answer, and whether the channels work."""

from typing import Annotated

import typer

from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, show_json, show_table, show_text
from gaelp.cli.startup import prepare
from gaelp.clock import SystemClock
from gaelp.errors import GaelpError
from gaelp.observability.alert_routes import open_dispatcher
from gaelp.observability.alerts import Alert, Dispatcher, PendingAlert

__all__ = ["ack", "app", "list_", "try_out"]

app = typer.Typer(no_args_is_help=True)


@app.command("list")
def list_(config: ConfigOption = None, overrides: SetOption = None, as_json: JsonOption = False) -> None:
    """List the critical alerts that nobody has answered, how often each came again, and whether it went further.

    **Example**: `gaelp alerts list --json`
    """
    waiting = sorted(_dispatcher(config, overrides).pending, key=lambda one: one.since)
    if as_json:
        show_json({"pending": [one.model_dump(mode="json") for one in waiting]})
    elif waiting:
        show_text("\n".join(map(_shown, waiting)))
        say("`gaelp alerts ack SOURCE KEY` answers one: it goes no further.")
    else:
        show_text("No critical alert waits for an answer.")


@app.command()
def ack(
    source: Annotated[str, typer.Argument(help="Where it came from, as `gaelp alerts list` shows it.")],
    key: Annotated[str, typer.Argument(help="Which one of that source.")],
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer a critical alert: somebody looks after it, so it goes no further. If it comes again, it is told again.

    **Example**: `gaelp alerts ack guarded not-reconciled/acc-1`
    """
    alert = _dispatcher(config, overrides).acknowledge(source, key)
    if as_json:
        show_json({"acknowledged": alert.model_dump(mode="json")})
    else:
        show_text(f"Acknowledged: {alert.title}")


@app.command("test")
def try_out(config: ConfigOption = None, overrides: SetOption = None, as_json: JsonOption = False) -> None:
    """Send one alert through every channel of the settings, the second ones too, and tell which took it.

    **Example**: `gaelp alerts test --config production`

    Exits 1 if one did not.
    """
    dispatcher = _dispatcher(config, overrides)
    title, body = "A test of the alert channels", "Nothing is wrong: somebody ran `gaelp alerts test`."
    now = SystemClock().now()
    tried = dispatcher.try_out(Alert(severity="info", source="alerts", key="test", title=title, body=body, at=now))
    if as_json:
        show_json({"reached": tried.reached, "failed": tried.failed})
    else:
        rows = [
            *((name, "reached", "") for name in tried.reached),
            *((name, "FAILED", tried.failed[name]) for name in tried.failed),
        ]
        show_table(("channel", "outcome", "why"), rows)
    if tried.reached == ("log",) and not tried.failed:
        say("Only the log is told: set GAELP__ALERTS__FIRST__WEBHOOK__URL, or switch mail on as docs/alerts.md says.")
    if tried.failed:
        raise GaelpError(
            f"no alert arrives through {', '.join(tried.failed)}: mend its settings (`alerts`) or its server"
        )


def _shown(one: PendingAlert) -> str:
    """Source and key whole, as they have to be typed for an answer: a table would cut them to fit a terminal."""
    went = "escalated" if one.escalated else "not escalated"
    facts = f"since {one.since:%Y-%m-%d %H:%M} UTC, repeated {one.repeats} times, {went}"
    return f"{one.alert.source} {one.alert.key}\n  {one.alert.title}\n  {facts}"


def _dispatcher(config: str | None, overrides: list[str] | None) -> Dispatcher:
    return open_dispatcher(prepare(config, overrides).settings, SystemClock())
