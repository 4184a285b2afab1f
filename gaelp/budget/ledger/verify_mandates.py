"""A stop ends every mandate for good: report those that are open again, which only a change by hand can cause."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, inspect, text

from gaelp.budget.ledger.caps import CapKind
from gaelp.budget.ledger.findings import LedgerFinding
from gaelp.budget.ledger.schema import SIGNED_TABLE

__all__ = ["StopHistory", "check_ended", "read_stop_history"]

_FENCE = text("SELECT stop_id, released_at_ms FROM ledger_fence WHERE id = 1")
_OPENED = text("SELECT action_hash, at_ms FROM ledger_signed")


@dataclass(frozen=True, slots=True)
class StopHistory:
    """Whether a stop is in force, when the last one was released (0: never), and when mandates were opened.

    Orders are dated by the ledger's clock: if that is simulated time, they say nothing about a stop, which is not.
    """

    is_stopped: bool
    released_at_ms: int
    opened_at_ms: dict[str, int]
    orders_have_wall_time: bool = True

    def has_ended(self, bucket: Row[Any], first_order_ms: int | None) -> bool:
        """Whether a stop came after a mandate was opened, or after the first order under it."""
        ordered_ms = first_order_ms if self.orders_have_wall_time else None
        known = (self.opened_at_ms.get(bucket.subject), ordered_ms)
        return self.is_stopped or any(at_ms is not None and at_ms <= self.released_at_ms for at_ms in known)


def read_stop_history(connection: Connection, *, orders_have_wall_time: bool = True) -> StopHistory:
    """Read it from the fence and the signed changes; a missing table or row is reported by other checks."""
    fence = connection.execute(_FENCE).one_or_none()
    rows = connection.execute(_OPENED).all() if inspect(connection).has_table(SIGNED_TABLE.name) else []
    opened_at_ms = {row.action_hash: row.at_ms for row in rows}
    released_at_ms = fence.released_at_ms if fence else 0
    return StopHistory(bool(fence and fence.stop_id), released_at_ms, opened_at_ms, orders_have_wall_time)


def check_ended(bucket: Row[Any], first_order_ms: int | None, history: StopHistory) -> Iterator[LedgerFinding]:
    """A mandate that a stop has ended must be closed."""
    if bucket.kind == CapKind.MANDATE and not bucket.breached and history.has_ended(bucket, first_order_ms):
        yield LedgerFinding(where=bucket.id, what="state, after a stop", expected="closed", actual="open")
