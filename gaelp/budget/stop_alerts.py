"""Alert people that spending was stopped or released; a failed alert never affects the stop."""

import tempfile
from collections.abc import Container, Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from gaelp.budget.kill_switch import StopReport
from gaelp.budget.stop_report_text import shortfall
from gaelp.clock import SystemClock
from gaelp.config.places import absolute
from gaelp.config.settings import Settings
from gaelp.errors import BadInput, GaelpError
from gaelp.observability.alert_routes import open_dispatcher
from gaelp.observability.alerts import Alert, Severity

__all__ = ["alert_followup", "alert_released", "alert_stopped"]

_SOURCE = "kill-switch"
_SHORT = {"failed": "failed", "still trying": "not done yet"}


def alert_stopped(settings: Settings, report: StopReport, *, by: str, reason: str) -> tuple[str, ...]:
    """Alert people that spending is stopped, or could not be; return what went wrong with the alert."""
    body = f"{reason} (by {by}). {shortfall(report) or report.describe_parts()}"
    return _alert(settings, "critical", report.stop_id, _title(report), body)


def alert_followup(settings: Settings, report: StopReport, *, is_good: bool) -> tuple[str, ...]:
    """Alert people of the outcome of parts that were still trying at the first alert."""
    severity: Severity = "warning" if is_good else "critical"
    body = shortfall(report) or report.describe_parts()
    return _alert(settings, severity, _end_key(report.stop_id), _title(report), body)


def _title(report: StopReport) -> str:
    if not report.stopped:
        return "Spending could NOT be stopped"
    missing = [f"{part.name} {_SHORT[part.outcome]}" for part in report.parts if part.outcome in _SHORT]
    return f"Spending is stopped in part: {' and '.join(missing)}" if missing else "Spending is stopped"


def _end_key(stop_id: str) -> str:
    return f"{stop_id}/end"


def alert_released(
    settings: Settings, stop_ids: Iterable[str], reason: str, *, asked_at: datetime | None = None
) -> tuple[str, ...]:
    """Alert people that spending is allowed again, and acknowledge the alerts about these stops.

    Those sent before the release was asked for are about these stops or about earlier ones, which they replaced.
    """
    ids = tuple(stop_ids)
    if not ids:
        return ()
    problems = _acknowledge(settings, {key for stop_id in ids for key in (stop_id, _end_key(stop_id))}, asked_at)
    for stop_id in ids:
        body = f"{reason} (stop {stop_id})"
        problems += _alert(settings, "warning", f"released/{stop_id}", "Spending is allowed again", body)
    return problems


def _acknowledge(settings: Settings, keys: Container[str], asked_at: datetime | None) -> tuple[str, ...]:
    try:
        dispatcher = open_dispatcher(settings, SystemClock())
        for pending in dispatcher.pending:
            is_before = asked_at is not None and pending.since <= asked_at
            if pending.alert.source == _SOURCE and (is_before or pending.alert.key in keys):
                with suppress(BadInput):  # somebody has acknowledged it meanwhile
                    dispatcher.acknowledge(_SOURCE, pending.alert.key)
    except GaelpError as problem:
        return (f"alerts about the stop may still be escalated ({problem})",)
    return ()


def _alert(settings: Settings, severity: Severity, key: str, title: str, body: str) -> tuple[str, ...]:
    clock = SystemClock()
    try:
        alert = Alert(severity=severity, source=_SOURCE, key=key, title=title, body=body[:8000], at=clock.now())
        if absolute(settings.home).is_dir():
            sent = open_dispatcher(settings, clock).send(alert)
        else:
            # Storing the alert would create the home, and a home without a latch means go: store it nowhere.
            with tempfile.TemporaryDirectory() as nowhere:
                elsewhere = settings.model_copy(update={"home": Path(nowhere)})
                sent = open_dispatcher(elsewhere, clock).send(alert)
    except Exception as problem:  # noqa: BLE001 - the stop is in force, whatever happens to the alert
        return (f"the alert could not be sent ({type(problem).__name__}: {problem}): inform people yourself",)
    return tuple(
        f"the alert did not reach {name} ({trouble}): inform people yourself" for name, trouble in sent.failed.items()
    )
