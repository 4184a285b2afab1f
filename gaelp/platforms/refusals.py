"""Report a refused order: as a violation if somebody tried something forbidden, otherwise as an alert."""

from typing import Literal

from gaelp.budget.latch import plain_reason
from gaelp.budget.ledger import KeyReused, SpendingStopped
from gaelp.checks.raised import in_words
from gaelp.errors import BadInput, Refused, WaitingForPerson
from gaelp.observability.alerts import Severity
from gaelp.platforms.guard import Guard, report_violation, send_alert
from gaelp.platforms.order import Order, action_of
from gaelp.platforms.order_book import find_order
from gaelp.platforms.verify_orders import REFUSED

__all__ = ["Stage", "report_refusal"]

Stage = Literal["key", "switch", "order", "approval", "content", "reservation", "send", "read back"]

# Refusals that count as violations: somebody tried something forbidden. All others only raise an alert.
_BEFORE_THE_BOOK: tuple[Stage, ...] = ("approval", "content", "reservation")
_VIOLATIONS: dict[Stage, str] = {"approval": "not-approved", "content": "content-refused"}


def report_refusal(guard: Guard, order: Order, stage: Stage, refusal: Exception) -> str | None:
    """Report a refusal; return what went wrong with that instead of raising, so that it cannot hide the refusal."""
    unlogged = _log_unwritten(guard, order, stage, refusal)
    return "; ".join(filter(None, (unlogged, _report(guard, order, stage, refusal)))) or None


def _log_unwritten(guard: Guard, order: Order, stage: Stage, refusal: Exception) -> str | None:
    """Record in the audit log that an order was refused after its approval was used and before it was stored.

    Without that row it would look like an order that somebody deleted from the order book.
    """
    if stage not in _BEFORE_THE_BOOK or order.renews or order.mandate is not None:
        return None
    try:
        if find_order(guard.ledger, order.key) is None:
            action = action_of(order, guard.account, guard.platform.world)
            why = f"{stage}: {type(refusal).__name__}: {refusal}"
            guard.authority.store.note_refused(REFUSED, action, plain_reason(why)[:500])
    except Exception as problem:  # noqa: BLE001 - the refusal itself matters more
        return f"the audit log could not record the refusal ({in_words(problem)})"
    return None


def _report(guard: Guard, order: Order, stage: Stage, refusal: Exception) -> str | None:
    what = f"{order.kind} {order.key}: {type(refusal).__name__}: {refusal}"
    severity: Severity = "warning"
    match refusal:
        case Refused() if stage == "read back":
            return None  # the pause has sent its alert already
        case SpendingStopped():
            rule = "stopped"
        case WaitingForPerson():
            severity, rule = "info", "waits-for-a-person"
        case KeyReused():
            return report_violation(guard, "warning", scope=order.campaign, rule="key-reused", what=what)
        case Refused() if stage in _VIOLATIONS:
            return report_violation(guard, "warning", scope=order.campaign, rule=_VIOLATIONS[stage], what=what)
        case Refused() | BadInput():
            rule = f"refused-at-{stage}"
        case _:
            severity, rule = "critical", "door-out-of-order"
    return send_alert(guard, severity, scope=order.campaign, rule=rule, what=what)
