"""What is told of an order that was refused: a violation where somebody tried what nobody may, else an alert."""

from typing import Literal

from gaelp.budget.ledger import KeyReused, Stopped
from gaelp.errors import BadInput, Refused, WaitingForPerson
from gaelp.observability.alerts import Severity
from gaelp.platforms.guard import Guard, tell, tell_violation
from gaelp.platforms.order import Order

__all__ = ["Stage", "tell_refusal"]

Stage = Literal["key", "switch", "order", "approval", "content", "reservation", "send", "read back"]

# Which refusals are violations: somebody tried what nobody may. The others are guards that held, and somebody is told.
_VIOLATIONS: dict[Stage, str] = {"approval": "not-approved", "content": "content-refused"}


def tell_refusal(guard: Guard, order: Order, stage: Stage, refusal: Exception) -> str | None:
    """Put a refusal on record; what went wrong with that is the answer, and never hides the refusal."""
    what = f"{order.kind} {order.key}: {type(refusal).__name__}: {refusal}"
    told: tuple[Severity, str]
    match refusal:
        case Refused() if stage == "read back":
            return None  # told already, with the pause
        case Stopped():
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
