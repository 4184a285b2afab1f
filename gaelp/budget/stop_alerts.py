"""Tell people that spending was stopped, or may go on: after the fact, and never in its way."""

from collections.abc import Iterable

from gaelp.budget.kill_switch import PartReport
from gaelp.clock import SystemClock
from gaelp.config.settings import Settings
from gaelp.errors import BadInput, GaelpError
from gaelp.observability.alert_routes import open_dispatcher
from gaelp.observability.alerts import Alert, Severity

__all__ = ["tell_released", "tell_stopped"]

_SOURCE = "kill-switch"


def tell_stopped(
    settings: Settings, stop_id: str, parts: Iterable[PartReport], *, by: str, reason: str
) -> tuple[str, ...]:
    """Alert people that all spending stands still; the answer is what went wrong with that."""
    told = "; ".join(f"{part.name}: {part.outcome} {part.detail}".strip() for part in parts)
    return _tell(settings, "critical", stop_id, "Spending is stopped", f"{reason} (by {by}). {told}")


def tell_released(settings: Settings, stop_ids: Iterable[str], reason: str) -> tuple[str, ...]:
    """Alert people that spending may go on, and let the alerts about these stops rest."""
    problems: tuple[str, ...] = ()
    for stop_id in stop_ids:
        problems += _let_rest(settings, stop_id)
        body = f"{reason} (stop {stop_id})"
        problems += _tell(settings, "warning", f"released/{stop_id}", "Spending may go on", body)
    return problems


def _let_rest(settings: Settings, stop_id: str) -> tuple[str, ...]:
    try:
        open_dispatcher(settings, SystemClock()).acknowledge(_SOURCE, stop_id)
    except BadInput:
        return ()  # somebody has answered it before
    except GaelpError as problem:
        return (f"the alert about the stop {stop_id} may be escalated all the same ({problem})",)
    return ()


def _tell(settings: Settings, severity: Severity, key: str, title: str, body: str) -> tuple[str, ...]:
    clock = SystemClock()
    try:
        alert = Alert(severity=severity, source=_SOURCE, key=key, title=title, body=body[:8000], at=clock.now())
        sent = open_dispatcher(settings, clock).send(alert)
    except Exception as problem:  # noqa: BLE001 - the stop stands, whatever became of the alert
        return (f"the alert could not be sent ({type(problem).__name__}: {problem}): tell people yourself",)
    return tuple(
        f"the alert did not reach {name} ({trouble}): tell people yourself" for name, trouble in sent.failed.items()
    )
