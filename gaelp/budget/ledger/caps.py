"""Caps limit what a subject may spend: the conditional UPDATE that grants room, and the one that settles it.

A subject has one limit. If the kind counts days, each day of the account gets its own bucket, opened from the limit on
first use. Every bucket keeps reserved + posted <= limit unless real cost breaches it; a breached bucket refuses new
reservations until a person reopens it.
"""

from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import Connection, text

from gaelp.budget.ledger.input_checks import check_word
from gaelp.budget.ledger.refusals import CapReached, LedgerBroken
from gaelp.errors import BadInput
from gaelp.money import Micros, Money

__all__ = ["Bucket", "Cap", "CapKind", "buckets_of", "open_bucket", "settle_room", "take_room"]


class CapKind(StrEnum):
    """The scope of a cap."""

    EPISODE = "episode"
    CAMPAIGN_DAY = "campaign_day"
    CAMPAIGN = "campaign"
    ACCOUNT_DAY = "account_day"
    ACCOUNT = "account"
    MANDATE = "mandate"
    MANDATE_DAY = "mandate_day"
    TOTAL = "total"

    @property
    def counts_days(self) -> bool:
        """Whether each day of the account has its own bucket."""
        return self in (CapKind.CAMPAIGN_DAY, CapKind.ACCOUNT_DAY, CapKind.MANDATE_DAY)

    @property
    def is_of_a_mandate(self) -> bool:
        """Whether its limit comes from a signed mandate; nobody sets it by hand."""
        return self in (CapKind.MANDATE, CapKind.MANDATE_DAY)


@dataclass(frozen=True, slots=True, order=True)
class Cap:
    """A cap: its kind and its subject (the id of an episode, campaign or account; a name for a total)."""

    kind: CapKind
    subject: str

    def __post_init__(self) -> None:
        if not isinstance(self.kind, CapKind):
            raise BadInput(f"a cap of kind {self.kind!r}; allowed: {', '.join(CapKind)}. Give a CapKind.")
        check_word(self.subject, "the subject of a cap")


@dataclass(frozen=True, slots=True, order=True)
class Bucket:
    """Where amounts are counted: a cap, and its day if the cap counts days (ISO date, else empty)."""

    cap: Cap
    day: str

    @property
    def id(self) -> str:
        """The primary key of its row."""
        return ":".join(part for part in (self.cap.kind, self.cap.subject, self.day) if part)


_TAKE = text(
    "UPDATE ledger_cap SET reserved_micros = reserved_micros + :micros"
    " WHERE id = :id AND breached = 0 AND currency = :currency AND account_id IN (:account_id, '')"
    " AND reserved_micros + posted_micros + :micros <= limit_micros"
)
_OPEN = text(
    "INSERT INTO ledger_cap (id, kind, subject, day, account_id, currency, limit_micros,"
    " reserved_micros, posted_micros, breached)"
    " SELECT :id, kind, subject, :day, account_id, currency, limit_micros, 0, 0, 0"
    " FROM ledger_limit WHERE kind = :kind AND subject = :subject ON CONFLICT DO NOTHING"
)
_SETTLE = text(
    "UPDATE ledger_cap SET reserved_micros = reserved_micros - :reserved, posted_micros = posted_micros + :posted,"
    " breached = CASE WHEN reserved_micros - :reserved + posted_micros + :posted > limit_micros"
    " THEN 1 ELSE breached END WHERE id = :id"
)
_FIND = text("SELECT * FROM ledger_cap WHERE id = :id")


def buckets_of(caps: tuple[Cap, ...], day: str) -> list[Bucket]:
    """The buckets of a transfer of that day, in the order in which every transaction locks them."""
    return sorted(Bucket(cap, day if cap.kind.counts_days else "") for cap in caps)


def take_room(connection: Connection, bucket: Bucket, amount: Money, account_id: str) -> None:
    """Reserve in one bucket, or refuse; the caller's transaction then rolls back the other buckets."""
    values = {"id": bucket.id, "micros": amount.micros, "currency": amount.currency, "account_id": account_id}
    if connection.execute(_TAKE, values).rowcount == 1:
        return
    open_bucket(connection, bucket)  # somebody else may open it at the same moment: try again either way
    if connection.execute(_TAKE, values).rowcount == 1:
        return
    raise CapReached(_why_refused(connection, bucket, amount, account_id))


def open_bucket(connection: Connection, bucket: Bucket) -> None:
    """Create a missing bucket from the limit of its cap; without a limit, none is created."""
    names = {"id": bucket.id, "day": bucket.day, "kind": bucket.cap.kind, "subject": bucket.cap.subject}
    connection.execute(_OPEN, names)


def settle_room(connection: Connection, bucket: Bucket, *, reserved_micros: Micros, posted_micros: Micros) -> None:
    """Free reserved room and add real cost; cost is never refused, but beyond the limit it closes the bucket."""
    values = {"id": bucket.id, "reserved": reserved_micros, "posted": posted_micros}
    if connection.execute(_SETTLE, values).rowcount != 1:
        raise LedgerBroken(f"the bucket {bucket.id} of a transfer is missing: run `gaelp ledger verify` and restore it")


def _why_refused(connection: Connection, bucket: Bucket, amount: Money, account_id: str) -> str:
    row = connection.execute(_FIND, {"id": bucket.id}).one_or_none()
    if row is None:
        return f"cap {bucket.id} has no limit, so nothing may be spent under it: set one first"
    if row.currency != amount.currency or row.account_id not in ("", account_id):
        return (
            f"cap {bucket.id} is of account {row.account_id or 'all'} in {row.currency}, the amount of {account_id} in"
            f" {amount.currency}: name a cap of the same account and currency"
        )
    reserved, spent = Money(row.reserved_micros, row.currency), Money(row.posted_micros, row.currency)
    usage = f"{reserved} reserved and {spent} spent of {Money(row.limit_micros, row.currency)}"
    if row.breached:
        return f"cap {bucket.id} was breached ({usage}) and is closed: a person has to review and reopen it"
    return f"cap {bucket.id} has no room for {amount} ({usage}): ask for less, or wait until reservations are settled"
