"""The second phase of a transfer: post its real cost, void it or let it expire; adjust it when the cost is revised.

None of these checks the kill switch: they free room or record facts, and the ledger must stay true during a stop.
"""

from sqlalchemy import Connection, text

from gaelp.budget.ledger.caps import settle_room
from gaelp.budget.ledger.connection import Ledger
from gaelp.budget.ledger.input_checks import check_amount, check_word
from gaelp.budget.ledger.journal import cost, released, write_movements
from gaelp.budget.ledger.refusals import KeyReused, WrongState
from gaelp.budget.ledger.transfers import COLUMNS, Receipt, Transfer, TransferState, get_transfer
from gaelp.errors import BadInput, MoneyError
from gaelp.money import MAX_MICROS, Micros, Money

__all__ = ["adjust", "adjustments_of", "expire", "post", "void"]

_MOST_AT_ONCE = 1000

_FINISH = text(
    "UPDATE ledger_transfer SET state = :state, posted_micros = :posted"  # noqa: S608 - a constant of the package
    " WHERE key = :key AND state IN ('reserved', 'in_flight')"
    f" RETURNING {COLUMNS}"
)
# Only transfers that were never sent: one in flight holds its room until its outcome is known.
_EXPIRE = text(
    "UPDATE ledger_transfer SET state = 'expired'"  # noqa: S608 - a constant of the package
    " WHERE key = :key AND state = 'reserved' AND expires_at_ms <= :now_ms"
    f" RETURNING {COLUMNS}"
)
_EXPIRING = text(
    "SELECT key FROM ledger_transfer WHERE state = 'reserved' AND expires_at_ms <= :now_ms"
    " ORDER BY expires_at_ms LIMIT :at_most"
)
_INSERT_ADJUSTMENT = text(
    "INSERT INTO ledger_adjustment (key, transfer_key, micros, reason, created_at_ms)"
    " VALUES (:key, :transfer_key, :micros, :reason, :now_ms) ON CONFLICT (key) DO NOTHING"
)
_COUNT_ADJUSTMENTS = text("SELECT COUNT(*) FROM ledger_adjustment WHERE transfer_key = :key")
_FIND_ADJUSTMENT = text("SELECT transfer_key, micros FROM ledger_adjustment WHERE key = :key")
_ADJUST = text(
    "UPDATE ledger_transfer SET adjusted_micros = adjusted_micros + :micros"  # noqa: S608 - a constant of the package
    " WHERE key = :key AND state IN ('posted', 'voided', 'expired') AND currency = :currency"
    " AND posted_micros + adjusted_micros + :micros >= 0"
    f" RETURNING {COLUMNS}"
)


def post(ledger: Ledger, key: str, actual: Money) -> Receipt:
    """Book what a transfer really cost and free the rest of its reservation.

    Cost above the reservation is booked too, and every cap it exceeds is marked as breached.
    """
    check_amount(actual, f"the cost of {key}", least_micros=0)
    return _finish(ledger, key, TransferState.POSTED, actual)


def void(ledger: Ledger, key: str) -> Receipt:
    """Free the whole reservation; the caller must know that the money was not and will not be spent."""
    return _finish(ledger, key, TransferState.VOIDED, None)


def expire(ledger: Ledger, *, at_most: int = _MOST_AT_ONCE) -> list[str]:
    """Free reservations that were not sent in time, each in its own transaction, and return their keys."""
    now_ms = ledger.now_ms()
    with ledger.snapshot() as connection:
        keys = connection.execute(_EXPIRING, {"now_ms": now_ms, "at_most": at_most}).scalars().all()
    return [key for key in keys if _expire_one(ledger, key, now_ms)]


def adjust(ledger: Ledger, key: str, *, transfer_key: str, difference: Money, reason: str) -> Receipt:
    """Book a late or revised cost of a finished transfer: more if positive, a refund if negative.

    It has its own key and counts on the transfer's day and caps. No cap can refuse it, because it has happened: a cap
    that it takes beyond its limit is breached and closed. Only a refund of more than was paid is refused.
    """
    check_word(key, "the key of an adjustment")
    check_word(reason, f"the reason of {key}")
    _check_difference(key, difference)
    values = {"key": key, "transfer_key": transfer_key, "micros": difference.micros, "reason": reason}
    with ledger.transaction() as connection:
        if connection.execute(_INSERT_ADJUSTMENT, {**values, "now_ms": ledger.now_ms()}).rowcount == 0:
            return _replayed_adjustment(connection, key, transfer_key, difference)
        ledger.at_point("adjustment stored")
        changes = {"key": transfer_key, "micros": difference.micros, "currency": difference.currency}
        row = connection.execute(_ADJUST, changes).one_or_none()
        if row is None:
            raise _not_adjustable(get_transfer(connection, transfer_key), difference)
        transfer = Transfer.from_row(row)
        _settle(ledger, connection, transfer, reserved_micros=0, posted_micros=difference.micros)
    return Receipt(key, transfer.state, is_new=True)


def adjustments_of(ledger: Ledger, key: str) -> tuple[Transfer, int]:
    """A transfer and its number of adjustments, from one snapshot.

    With that number in the key of the next adjustment, two processes that book the same difference book it once.
    """
    with ledger.snapshot() as connection:
        transfer = get_transfer(connection, key)
        return transfer, int(connection.execute(_COUNT_ADJUSTMENTS, {"key": key}).scalar_one())


def _finish(ledger: Ledger, key: str, state: TransferState, actual: Money | None) -> Receipt:
    posted_micros = actual.micros if actual else 0
    with ledger.transaction() as connection:
        row = connection.execute(_FINISH, {"key": key, "state": state, "posted": posted_micros}).one_or_none()
        if row is None:
            return _replayed(get_transfer(connection, key), state, posted_micros)
        ledger.at_point("finished")
        transfer = Transfer.from_row(row)
        if actual is not None and actual.currency != transfer.currency:
            raise BadInput(
                f"{key} is in {transfer.currency}, its cost was given in {actual.currency}: convert it first"
            )
        _settle(ledger, connection, transfer, reserved_micros=transfer.amount_micros, posted_micros=posted_micros)
    return Receipt(key, state, is_new=True)


def _expire_one(ledger: Ledger, key: str, now_ms: int) -> bool:
    with ledger.transaction() as connection:
        row = connection.execute(_EXPIRE, {"key": key, "now_ms": now_ms}).one_or_none()
        if row is None:
            return False  # sent or finished since it was listed
        transfer = Transfer.from_row(row)
        _settle(ledger, connection, transfer, reserved_micros=transfer.amount_micros, posted_micros=0)
        return True


def _settle(
    ledger: Ledger, connection: Connection, transfer: Transfer, *, reserved_micros: Micros, posted_micros: Micros
) -> None:
    """Apply a change of a transfer to every bucket and to the journal."""
    for bucket in transfer.buckets:
        settle_room(connection, bucket, reserved_micros=reserved_micros, posted_micros=posted_micros)
        ledger.at_point("room settled")
    write_movements(connection, transfer.key, ledger.now_ms(), released(reserved_micros), cost(posted_micros))
    ledger.at_point("journal written")


def _replayed(transfer: Transfer, state: TransferState, posted_micros: Micros) -> Receipt:
    if (transfer.state, transfer.posted_micros) == (state, posted_micros):
        return Receipt(transfer.key, state, is_new=False)
    if transfer.state is TransferState.POSTED and state is TransferState.POSTED:
        before = Money(transfer.posted_micros, transfer.currency)
        raise KeyReused(
            f"{transfer.key} was posted with {before}, now with {Money(posted_micros, transfer.currency)}: book the"
            " difference as an adjustment with a key of its own"
        )
    raise WrongState(f"{transfer.key} is {transfer.state} and cannot be {state}: book later cost as an adjustment")


def _replayed_adjustment(connection: Connection, key: str, transfer_key: str, difference: Money) -> Receipt:
    row = connection.execute(_FIND_ADJUSTMENT, {"key": key}).one()
    transfer = get_transfer(connection, row.transfer_key)
    before = Money(row.micros, transfer.currency)
    if (row.transfer_key, before) != (transfer_key, difference):
        raise KeyReused(
            f"the adjustment {key!r} was {before} of {row.transfer_key}, now it is {difference} of {transfer_key}: a"
            " new adjustment needs a new key"
        )
    return Receipt(key, transfer.state, is_new=False)


def _not_adjustable(transfer: Transfer, difference: Money) -> Exception:
    if transfer.currency != difference.currency:
        return BadInput(
            f"{transfer.key} is in {transfer.currency}, the adjustment in {difference.currency}: convert it"
        )
    if not transfer.state.is_final:
        return WrongState(f"{transfer.key} is {transfer.state}: post or void it first, then adjust it")
    paid = Money(transfer.posted_micros + transfer.adjusted_micros, transfer.currency)
    return MoneyError(f"a refund of {-difference} for {transfer.key}, which cost {paid}: refund at most that")


def _check_difference(key: str, difference: Money) -> None:
    if isinstance(difference, Money) and -MAX_MICROS < difference.micros < 0:
        check_amount(-difference, f"the refund {key}", least_micros=1)
    else:
        check_amount(difference, f"the adjustment {key}", least_micros=1)
