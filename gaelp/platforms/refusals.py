"""What is told of an order that was refused: a violation where somebody tried what nobody may, else an alert."""

from typing import Literal

from gaelp.budget.latch import plain_reason
from gaelp.budget.ledger import KeyReused, SpendingStopped
from gaelp.checks.raised import in_words
from gaelp.errors import BadInput, Refused, WaitingForPerson
from gaelp.observability.alerts import Severity
from gaelp.platforms.guard import Guard, tell, tell_violation
from gaelp.platforms.order import Order, action_of
from gaelp.platforms.order_book import find_order
from gaelp.platforms.verify_orders import REFUSED

__all__ = ["Stage", "tell_refusal"]

Stage = Literal["key", "switch", "order", "approval", "content", "reservation", "send", "read back"]

# Which refusals are violations: somebody tried what nobody may. The others are guards that held, and somebody is told.
_BEFORE_THE_BOOK: tuple[Stage, ...] = ("approval", "content", "reservation")
_VIOLATIONS: dict[Stage, str] = {"approval": "not-approved", "content": "content-refused"}


def tell_refusal(guard: Guard, order: Order, stage: Stage, refusal: Exception) -> str | None:
    """Put a refusal on record; what went wrong with that is the answer, and never hides the refusal."""
    unlogged = _log_unwritten(guard, order, stage, refusal)
    return "; ".join(filter(None, (unlogged, _tell(guard, order, stage, refusal)))) or None


def _log_unwritten(guard: Guard, order: Order, stage: Stage, refusal: Exception) -> str | None:
    """Tell the audit log of an order that came to nothing after its approval was used and before it was written down.

    Without that row it could not be told from one that somebody took out of the order book.
    """
    if stage not in _BEFORE_THE_BOOK or order.renews or order.mandate is not None:
        return None
    try:
        if find_order(guard.ledger, order.key) is None:
            action = action_of(order, guard.account, guard.platform.world)
            why = f"{stage}: {type(refusal).__name__}: {refusal}"
            guard.authority.store.note_refused(REFUSED, action, plain_reason(why)[:500])
    except Exception as problem:  # noqa: BLE001 - the refusal itself matters more
        return f"the audit log was not told that it came to nothing ({in_words(problem)})"
    return None


def _tell(guard: Guard, order: Order, stage: Stage, refusal: Exception) -> str | None:
    what = f"{order.kind} {order.key}: {type(refusal).__name__}: {refusal}"
    told: tuple[Severity, str]
    match refusal:
        case Refused() if stage == "read back":
            return None  # told already, with the pause
        case SpendingStopped():
            told = "warning", "stopped"
        case WaitingForPerson():
            told = "info", "waits-for-a-person"
        case KeyReused():
            return tell_violation(guard, "warning", scope=order.campaign, rule="key-reused", what=what)
        case Refused() if stage in _VIOLATIONS:
            return tell_violation(guard, "warning", scope=order.campaign, rule=_VIOLATIONS[stage], what=what)
        case Refused() | BadInput():
            told = "warning", f"refused-at-{stage}"
        case _:
            told = "critical", "door-out-of-order"
    return tell(guard, told[0], scope=order.campaign, rule=told[1], what=what)
