"""What people learn of an emergency stop: the outcome in the terminal, and alerts. Imported after the stop is made."""

from collections.abc import Callable

from gaelp.budget.kill_switch import StopReport
from gaelp.budget.stop_alerts import tell_stopped
from gaelp.budget.stop_report_text import shortfall
from gaelp.cli.output import messages_as_json, say, say_error, show_json, show_table, show_text
from gaelp.config import known_secrets
from gaelp.config.settings import Settings
from gaelp.observability import configure, mask, mask_text, register_secrets

__all__ = ["report_problems", "report_stop"]


def report_stop(settings: Settings, report: StopReport, *, by: str, reason: str, no_alerts: str, as_json: bool) -> None:
    """Show the outcome and alert people; `no_alerts` says why nobody can be alerted, if so."""
    messages_as_json(settings.logging.format == "json")
    try:
        _show_stop(report, as_json=as_json)
    finally:  # people are alerted, also where nobody reads the output
        _alert(settings, report, by, reason, no_alerts)


def _show_stop(report: StopReport, *, as_json: bool) -> None:
    """What became of each part, and what is left to do; before the alerts, which may take their time."""
    register_secrets(known_secrets())
    if as_json:
        show_json(mask(report.model_dump(mode="json")))
    else:
        show_table(("", "outcome", ""), [(part.name, part.outcome, mask_text(part.detail)) for part in report.parts])
    if not report.complete:
        say_error(mask_text(shortfall(report)))
    elif not as_json:
        show_text(f"Stopped ({report.stop_id}). Nothing is granted until the release of this stop is approved.")


def _alert(settings: Settings, report: StopReport, by: str, reason: str, no_alerts: str) -> None:
    """Tell people, unless the settings say nothing of whom that can be used."""
    if no_alerts:
        say(f"Nobody is alerted, for the settings cannot be used as they are ({no_alerts}): tell people yourself.")
        return
    report_problems(settings, lambda: tell_stopped(settings, report, by=by, reason=reason))


def report_problems(settings: Settings, tell: Callable[[], tuple[str, ...]]) -> None:
    """Alert people, with logging configured for it; what goes wrong is printed and changes nothing."""
    configure(level=settings.logging.level, format=settings.logging.format, secrets=known_secrets())
    for problem in tell():
        say(f"{problem[0].upper()}{problem[1:]}.")
