"""`gaelp alerts`: list and answer critical alerts, and test the channels."""

from typing import Annotated

import typer

from gaelp.checks.number_text import counted
from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, show_json, show_paragraph, show_table, show_text
from gaelp.cli.startup import prepare, prepare_reading
from gaelp.clock import SystemClock
from gaelp.errors import GaelpError
from gaelp.observability.alert_routes import open_dispatcher
from gaelp.observability.alerts import Alert, Dispatcher, PendingAlert

__all__ = ["ack", "app", "list_", "try_out"]

_SHOWN_CHARACTERS = 240

app = typer.Typer(no_args_is_help=True)


@app.command("list")
def list_(config: ConfigOption = None, overrides: SetOption = None, as_json: JsonOption = False) -> None:
    """List the critical alerts that nobody has answered, how often each was repeated, and whether it was escalated.

    **Example**: `gaelp alerts list --json`
    """
    waiting = sorted(_existing(config, overrides).pending, key=lambda pending: pending.since)
    if as_json:
        show_json({"pending": [pending.model_dump(mode="json") for pending in waiting]})
    elif waiting:
        for pending in waiting:
            show_paragraph(_shown(pending))
        say("`gaelp alerts ack SOURCE KEY` answers one: it is not escalated any more.")
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
    """Answer a critical alert: it is not escalated any more. If it is raised again, it is sent again.

    **Example**: `gaelp alerts ack guarded not-reconciled/acc-1`
    """
    alert = _existing(config, overrides).acknowledge(source, key)
    if as_json:
        show_json({"acknowledged": alert.model_dump(mode="json")})
    else:
        show_text(f"Acknowledged: {alert.title}")


@app.command("test")
def try_out(config: ConfigOption = None, overrides: SetOption = None, as_json: JsonOption = False) -> None:
    """Send one alert through every channel of the settings, the second ones too, and show which accepted it.

    **Example**: `gaelp alerts test --config production`

    Exits 1 if one did not.
    """
    dispatcher = open_dispatcher(prepare(config, overrides).settings, SystemClock())
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
        say("Alerts reach only the log: set GAELP__ALERTS__FIRST__WEBHOOK__URL, or mail as in docs/alerts.md.")
    if tried.failed:
        raise GaelpError(
            f"no alert arrives through {', '.join(tried.failed)}: fix its settings (`alerts`) or its server"
        )


def _shown(pending: PendingAlert) -> str:
    """Source and key in full, as `gaelp alerts ack` needs them: a table would cut them to fit a terminal."""
    escalated = "escalated" if pending.escalated else "not escalated"
    repeated = "not repeated" if not pending.repeats else f"repeated {counted(pending.repeats, 'time')}"
    facts = f"since {pending.since:%Y-%m-%d %H:%M} UTC, {repeated}, {escalated}"
    body = " ".join(pending.alert.body.split())
    short = body if len(body) <= _SHOWN_CHARACTERS else f"{body[: _SHOWN_CHARACTERS - 1]}…"
    return "\n  ".join(filter(None, (f"{pending.alert.source} {pending.alert.key}", pending.alert.title, short, facts)))


def _existing(config: str | None, overrides: list[str] | None) -> Dispatcher:
    return open_dispatcher(prepare_reading(config, overrides).settings, SystemClock())
