"""The ceilings of a signed mandate as caps: what its orders have reserved or spent, in total and per day.

Room under them is taken in the same transaction as under every other cap, so concurrent processes cannot exceed them.
Each reservation brings the limits from the signed mandate. A mandate that has ended stays closed for good.
"""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, text

from gaelp.budget.ledger.accounts import AdAccount
from gaelp.budget.ledger.caps import Bucket, Cap, CapKind
from gaelp.budget.ledger.connection import Ledger
from gaelp.budget.ledger.fence import FENCE_CLOSED, fence_state, is_before_release
from gaelp.budget.ledger.refusals import LedgerBroken, MandateClosed, SpendingStopped
from gaelp.budget.ledger.signed import SignedChange, is_done, remember
from gaelp.money import Micros, Money

__all__ = ["MandateRoom", "MandateUse", "check_ceiling", "close_mandate", "mandate_caps", "mandate_use", "open_mandate"]


def mandate_caps(mandate_id: str) -> tuple[Cap, Cap]:
    """The caps of a mandate: over all days, and on each day."""
    return Cap(CapKind.MANDATE, mandate_id), Cap(CapKind.MANDATE_DAY, mandate_id)


@dataclass(frozen=True, slots=True)
class MandateRoom:
    """A mandate, identified by its action hash, and how much may be reserved or spent under it."""

    id: str
    total_micros: Micros
    day_micros: Micros

    @property
    def caps(self) -> tuple[Cap, Cap]:
        """The caps that its orders count against."""
        return mandate_caps(self.id)


@dataclass(frozen=True, slots=True)
class MandateUse:
    """What is reserved and spent under a mandate, and whether it is closed."""

    total: Money
    reserved: Money
    spent: Money
    closed: bool


_FIND = text("SELECT limit_micros, reserved_micros, posted_micros, currency, breached FROM ledger_cap WHERE id = :id")
_OPEN = text(
    "INSERT INTO ledger_cap (id, kind, subject, day, account_id, currency, limit_micros, reserved_micros,"
    " posted_micros, breached) VALUES (:id, :kind, :subject, :day, :account_id, :currency, :limit_micros, 0, 0, 0)"
    " ON CONFLICT DO NOTHING"
)
_CLOSE = text("UPDATE ledger_cap SET breached = 1 WHERE id = :id")


def open_mandate(
    ledger: Ledger, room: MandateRoom, account: AdAccount, signed: SignedChange | None, *, first_signed_at: datetime
) -> bool:
    """Allow orders under a signed mandate; return False and write nothing if it was opened before.

    An ended mandate stays closed. One with a signature older than the last release of a stop is refused. `signed` is
    None if no real money can move.
    """
    with ledger.alone() as connection:
        if ledger.latch.is_set() or fence_state(connection) is not None:
            raise SpendingStopped(FENCE_CLOSED)
        bucket = Bucket(room.caps[0], "")
        was_opened = connection.execute(_FIND, {"id": bucket.id}).one_or_none() is not None
        if was_opened or (signed is not None and is_done(connection, signed)):
            return False
        if is_before_release(connection, first_signed_at):
            raise MandateClosed(
                f"the mandate {room.id[:12]} has a signature of {first_signed_at.isoformat(timespec='seconds')}, from"
                " before the kill switch was released: propose it again, and have it signed"
            )
        if signed is not None:
            remember(connection, signed, ledger.wall_ms())
        return _open(connection, bucket, room.total_micros, account)


def close_mandate(ledger: Ledger, mandate_id: str) -> bool:
    """End a mandate: after this returns, no order gets room under it. False if the mandate is unknown."""
    with ledger.alone() as connection:
        return connection.execute(_CLOSE, {"id": Bucket(Cap(CapKind.MANDATE, mandate_id), "").id}).rowcount == 1


def mandate_use(ledger: Ledger, mandate_id: str) -> MandateUse | None:
    """What is reserved and spent under a mandate; None if it was never opened in this ledger."""
    with ledger.snapshot() as connection:
        row = connection.execute(_FIND, {"id": Bucket(Cap(CapKind.MANDATE, mandate_id), "").id}).one_or_none()
    if row is None:
        return None
    return MandateUse(
        total=Money(row.limit_micros, row.currency),
        reserved=Money(row.reserved_micros, row.currency),
        spent=Money(row.posted_micros, row.currency),
        closed=bool(row.breached),
    )


def check_ceiling(connection: Connection, bucket: Bucket, room: MandateRoom, account: AdAccount) -> None:
    """Check before taking room that a ceiling is open and that its limit is the signed one."""
    limit_micros = room.day_micros if bucket.cap.kind is CapKind.MANDATE_DAY else room.total_micros
    if bucket.cap.kind is CapKind.MANDATE_DAY:
        _open(connection, bucket, limit_micros, account)
    row = connection.execute(_FIND, {"id": bucket.id}).one_or_none()
    if row is None:
        raise MandateClosed(f"the mandate {room.id[:12]} was not opened in this ledger: `gaelp mandate sign` opens it")
    if row.limit_micros != limit_micros:
        raise LedgerBroken(
            f"{bucket.id} has a limit of {row.limit_micros} micros instead of the signed {limit_micros}: somebody has"
            " changed the ledger; run `gaelp ledger verify`, and restore a copy that verifies"
        )
    if row.breached:
        raise MandateClosed(
            f"the mandate {room.id[:12]} has ended: it was revoked, the kill switch was set after it was signed, or"
            " cost went beyond its ceiling. Have a new one signed"
        )


def _open(connection: Connection, bucket: Bucket, limit_micros: Micros, account: AdAccount) -> bool:
    values = {
        "id": bucket.id,
        "kind": bucket.cap.kind,
        "subject": bucket.cap.subject,
        "day": bucket.day,
        "account_id": account.id,
        "currency": account.currency,
        "limit_micros": limit_micros,
    }
    return connection.execute(_OPEN, values).rowcount == 1
