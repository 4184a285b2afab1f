"""Tell people that spending was stopped, or may go on: after the fact, and never in its way."""

import tempfile
from collections.abc import Iterable
from pathlib import Path

from gaelp.budget.kill_switch import StopReport
from gaelp.budget.stop_report_text import shortfall, told_parts
from gaelp.clock import SystemClock
from gaelp.config.places import absolute
from gaelp.config.settings import Settings
from gaelp.errors import BadInput, GaelpError
from gaelp.observability.alert_routes import open_dispatcher
from gaelp.observability.alerts import Alert, Severity

__all__ = ["tell_end", "tell_released", "tell_stopped"]

_SOURCE = "kill-switch"
_SHORT = {"failed": "failed", "still trying": "not done yet"}


def tell_stopped(settings: Settings, report: StopReport, *, by: str, reason: str) -> tuple[str, ...]:
    """Alert people that all spending stands still, or does not; the answer is what went wrong with that."""
    body = f"{reason} (by {by}). {shortfall(report) or told_parts(report)}"
    return _tell(settings, "critical", report.stop_id, _title(report), body)


def tell_end(settings: Settings, report: StopReport, *, is_good: bool) -> tuple[str, ...]:
    """Alert people of what became of parts that were still trying when they were told of the stop."""
    severity: Severity = "warning" if is_good else "critical"
    body = shortfall(report) or told_parts(report)
    return _tell(settings, severity, _end_key(report.stop_id), _title(report), body)


def _title(report: StopReport) -> str:
    if not report.stopped:
        return "Spending could NOT be stopped"
    missing = [f"{part.name} {_SHORT[part.outcome]}" for part in report.parts if part.outcome in _SHORT]
    return f"Spending is stopped in part: {' and '.join(missing)}" if missing else "Spending is stopped"


def _end_key(stop_id: str) -> str:
    return f"{stop_id}/end"


def tell_released(settings: Settings, stop_ids: Iterable[str], reason: str) -> tuple[str, ...]:
    """Alert people that spending may go on, and let the alerts about these stops rest."""
    problems: tuple[str, ...] = ()
    for stop_id in stop_ids:
        for key in (stop_id, _end_key(stop_id)):
            problems += _let_rest(settings, key)
        body = f"{reason} (stop {stop_id})"
        problems += _tell(settings, "warning", f"released/{stop_id}", "Spending may go on", body)
    return problems


def _let_rest(settings: Settings, key: str) -> tuple[str, ...]:
    try:
        open_dispatcher(settings, SystemClock()).acknowledge(_SOURCE, key)
    except BadInput:
        return ()  # somebody has answered it before
    except GaelpError as problem:
        return (f"the alert about the stop {key} may be escalated all the same ({problem})",)
    return ()


def _tell(settings: Settings, severity: Severity, key: str, title: str, body: str) -> tuple[str, ...]:
    clock = SystemClock()
    try:
        alert = Alert(severity=severity, source=_SOURCE, key=key, title=title, body=body[:8000], at=clock.now())
        if absolute(settings.home).is_dir():
            sent = open_dispatcher(settings, clock).send(alert)
        else:
            # The record of alerts would make the home, and a home without a latch means go: remember it nowhere.
            with tempfile.TemporaryDirectory() as nowhere:
                elsewhere = settings.model_copy(update={"home": Path(nowhere)})
                sent = open_dispatcher(elsewhere, clock).send(alert)
    except Exception as problem:  # noqa: BLE001 - the stop stands, whatever became of the alert
        return (f"the alert could not be sent ({type(problem).__name__}: {problem}): tell people yourself",)
    return tuple(
        f"the alert did not reach {name} ({trouble}): tell people yourself" for name, trouble in sent.failed.items()
    )
