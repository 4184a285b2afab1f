"""Report an emergency stop: the outcome in the terminal, and alerts. Imported after the stop is made."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from gaelp.budget.kill_switch import StopReport
from gaelp.budget.latch import LATCH_NAME, Latch
from gaelp.budget.stop_alerts import alert_stopped
from gaelp.budget.stop_report_text import describe_stops, shortfall
from gaelp.cli.output import say, say_error, show_json, show_paragraph, show_table
from gaelp.config import known_secrets
from gaelp.config.places import absolute
from gaelp.config.settings import Settings
from gaelp.errors import GaelpError
from gaelp.observability import configure, mask, mask_text, register_secrets
from gaelp.observability.alert_channels import ALERT_LOGGER

__all__ = ["report_problems", "report_stop"]


def report_stop(settings: Settings, report: StopReport, *, by: str, reason: str, no_alerts: str, as_json: bool) -> None:
    """Show the outcome and alert people; `no_alerts` says why nobody can be alerted, empty if they can."""
    try:
        _show_stop(report, as_json=as_json)
        if not as_json:
            _show_earlier(settings, report)
    finally:  # alert people even if the output fails
        _alert(settings, report, by, reason, no_alerts)


def _show_stop(report: StopReport, *, as_json: bool) -> None:
    """Show the outcome of each part and what is left to do; before the alerts, which may take long."""
    register_secrets(known_secrets())
    if as_json:
        show_json(mask(report.model_dump(mode="json")))
    else:
        show_table(("", "outcome", ""), [(part.name, part.outcome, mask_text(part.detail)) for part in report.parts])
    if not report.complete:
        say_error(mask_text(shortfall(report)))
    elif not as_json:
        show_paragraph(f"Stopped ({report.stop_id}). Nothing is granted until the release of this stop is approved.")
        if report.outcome("pause") == "none":
            show_paragraph("No ad platform is connected, so nothing was paused there.")


def _show_earlier(settings: Settings, report: StopReport) -> None:
    """Say if spending was stopped already, since when and why."""
    with suppress(GaelpError):  # a latch that holds no record still stops
        record = Latch(absolute(settings.home) / LATCH_NAME).read()
        if record is not None and record.id == report.stop_id and record.earlier:
            show_paragraph(mask_text(f"It was stopped already. {describe_stops((*record.earlier, record))}."))


def _alert(settings: Settings, report: StopReport, by: str, reason: str, no_alerts: str) -> None:
    """Alert people, unless the alert settings are invalid."""
    if no_alerts:
        say(f"Nobody is alerted, because the settings are invalid ({no_alerts}): inform people yourself.")
        return
    report_problems(settings, lambda: alert_stopped(settings, report, by=by, reason=reason))


def report_problems(settings: Settings, send: Callable[[], tuple[str, ...]]) -> None:
    """Configure logging, send alerts, and print each alert and what goes wrong with it, as sentences."""
    configure(level=settings.logging.level, format=settings.logging.format, secrets=known_secrets())
    with _alerts_as_sentences(settings):
        problems = send()
    for problem in problems:
        say(f"{problem[0].upper()}{problem[1:]}.")


@contextmanager
def _alerts_as_sentences(settings: Settings) -> Iterator[None]:
    """Show alerts in words instead of as log lines: a person reads the output of these commands."""
    first = settings.alerts.first
    reach = "" if first.webhook or first.email else " It reaches nobody else: the settings name no channel for alerts."

    def say_alert(record: logging.LogRecord) -> bool:
        if not (isinstance(record.msg, dict) and "alert_source" in record.msg):
            return True  # any other line stays a log line
        say(f"Alert: {record.msg['event']}.{reach}")
        return False

    logger = logging.getLogger(ALERT_LOGGER)
    logger.addFilter(say_alert)
    try:
        yield
    finally:
        logger.removeFilter(say_alert)
