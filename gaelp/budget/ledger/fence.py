"""The kill switch's flag inside the database: one row that every grant reads under a lock; a stop takes it alone."""

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy import Connection, text

from gaelp.budget.latch import StopRecord
from gaelp.errors import GaelpError

if TYPE_CHECKING:
    from gaelp.budget.ledger.connection import Ledger

__all__ = [
    "FENCE_CLOSED",
    "fence_state",
    "is_before_release",
    "is_fenced",
    "lower_fence",
    "raise_fence",
    "read_fence",
    "signed_before_release",
]

FENCE_CLOSED = (
    "the kill switch is set (the fence in the ledger's database): no money is granted until its release is approved"
)

_READ = text("SELECT stop_id FROM ledger_fence WHERE id = 1")
_READ_RECORD = text("SELECT record FROM ledger_fence WHERE id = 1 AND stop_id <> ''")
_RAISE = text(
    "INSERT INTO ledger_fence (id, stop_id, record) VALUES (1, :stop_id, :record)"
    " ON CONFLICT (id) DO UPDATE SET stop_id = excluded.stop_id, record = excluded.record"
)
# A mandate does not survive a stop: people signed it before they knew why the stop was needed.
_END_MANDATES = text("UPDATE ledger_cap SET breached = 1 WHERE kind = 'mandate'")
_LOWER = text(
    "UPDATE ledger_fence SET stop_id = '', record = '',"
    " released_at_ms = CASE WHEN released_at_ms < :at_ms THEN :at_ms ELSE released_at_ms END"
    " WHERE id = 1 AND stop_id IN (:stop_id, '')"
)
_RELEASED = text("SELECT released_at_ms FROM ledger_fence WHERE id = 1")


def fence_state(connection: Connection) -> str | None:
    """The id of the stop in force, or None; a missing row counts as an unknown stop."""
    stop_id = connection.execute(_READ).scalar_one_or_none()
    if stop_id is None:
        return "unknown"
    return str(stop_id) or None


def is_fenced(ledger: "Ledger") -> bool:
    """Whether a stop is in force in the database; without its record."""
    with ledger.snapshot() as connection:
        return fence_state(connection) is not None


def read_fence(ledger: "Ledger") -> StopRecord | None:
    """The record of the stop in force; raise if there is a stop whose record cannot be read."""
    with ledger.snapshot() as connection:
        stop_id = fence_state(connection)
        record = connection.execute(_READ_RECORD).scalar_one_or_none()
    if stop_id is None:
        return None
    return _parsed(stop_id, record) if record else StopRecord(stop_id, "1970-01-01T00:00:00+00:00", "", "")


def raise_fence(ledger: "Ledger", record: StopRecord) -> None:
    """Stop spending: after this returns, no grant is stored any more, and every mandate has ended."""
    with ledger.alone() as connection:
        if before := connection.execute(_READ_RECORD).scalar_one_or_none():
            with suppress(GaelpError):  # a record that cannot be read holds no reason to keep
                record = record.after(_parsed(str(fence_state(connection)), before))
        connection.execute(_RAISE, {"stop_id": record.id, "record": record.as_json()})
        connection.execute(_END_MANDATES)


def lower_fence(ledger: "Ledger", stop_id: str) -> bool:
    """Allow spending again after this stop; return False and change nothing if another stop is in force.

    Every mandate ends with it: a restored ledger holds mandates from before the stop, which it could not end.
    """
    with ledger.alone() as connection:
        if connection.execute(_LOWER, {"stop_id": stop_id, "at_ms": ledger.wall_ms()}).rowcount != 1:
            return False
        connection.execute(_END_MANDATES)
    return True


def is_before_release(connection: Connection, at: datetime) -> bool:
    """Whether an instant is at or before the last release of a stop; False if there was none."""
    released_at_ms = connection.execute(_RELEASED).scalar_one_or_none() or 0
    return int(at.timestamp() * 1000) <= released_at_ms


def signed_before_release(ledger: "Ledger", signed_at: Iterable[datetime]) -> bool:
    """Whether any of these signatures is older than the last release of a stop."""
    with ledger.snapshot() as connection:
        return any(is_before_release(connection, at) for at in signed_at)


def _parsed(stop_id: str, stored: str) -> StopRecord:
    try:
        record = StopRecord.from_json(stored)
    except ValueError:
        record = None
    if record is None or record.id != stop_id:
        raise GaelpError(
            f"the fence in the ledger's database is raised (stop {stop_id}) but its record cannot be read, so its"
            " release cannot be approved: pull the kill switch again, which writes a new record, then release that stop"
        )
    return record
