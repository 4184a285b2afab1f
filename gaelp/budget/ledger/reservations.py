"""The first phase of a transfer: reserve room under every cap, then mark it as being sent."""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection, text

from gaelp.budget.ledger.accounts import AdAccount, find_account
from gaelp.budget.ledger.caps import Cap, buckets_of, take_room
from gaelp.budget.ledger.connection import Ledger
from gaelp.budget.ledger.input_checks import UNRESERVED, check_amount, check_word
from gaelp.budget.ledger.journal import held, released, write_movements
from gaelp.budget.ledger.mandates import MandateRoom, check_ceiling
from gaelp.budget.ledger.refusals import KeyReused, WrongState
from gaelp.budget.ledger.transfers import Receipt, TransferState, caps_as_json, get_transfer
from gaelp.clock import account_day
from gaelp.errors import BadInput
from gaelp.money import Money

__all__ = ["DEFAULT_TIME_TO_SEND", "Reservation", "mark_in_flight", "reserve"]

DEFAULT_TIME_TO_SEND = timedelta(minutes=10)
MAX_TIME_TO_SEND = timedelta(days=1)
_MAX_CAPS = 64

_INSERT = text(
    "INSERT INTO ledger_transfer (key, account_id, currency, amount_micros, caps, day, state, posted_micros,"
    " adjusted_micros, created_at_ms, expires_at_ms)"
    " VALUES (:key, :account_id, :currency, :amount_micros, :caps, :day, 'reserved', 0, 0, :now_ms, :expires_at_ms)"
    " ON CONFLICT (key) DO NOTHING"
)
_SEND = text(
    "UPDATE ledger_transfer SET state = 'in_flight' WHERE key = :key AND state = 'reserved' AND expires_at_ms > :now_ms"
    " RETURNING amount_micros"
)


@dataclass(frozen=True, slots=True)
class Reservation:
    """A request to spend at most `amount`, granted under all of the caps or not at all.

    An amount of zero is for a call that needs no more room than its campaign already has: it is still a transfer, so
    that the ledger records whether it was sent, and a closed cap refuses it. `mandate` holds the ceilings of the
    mandate that the caps name, if any.

    The key makes the request idempotent. It never expires; only the same request may reuse it.
    """

    key: str
    account_id: str
    amount: Money
    caps: tuple[Cap, ...]
    mandate: MandateRoom | None = None

    def __post_init__(self) -> None:
        check_word(self.key, "the key of a reservation")
        if self.key.startswith(UNRESERVED):
            raise BadInput(f"the key {self.key!r} begins with {UNRESERVED!r}, kept for unreserved cost: use another")
        check_amount(self.amount, f"the amount of {self.key}", least_micros=0)
        if not 0 < len(set(self.caps)) == len(self.caps) <= _MAX_CAPS:
            raise BadInput(
                f"{self.key} names {len(self.caps)} caps, {len(set(self.caps))} of them different; allowed: 1 to"
                f" {_MAX_CAPS}, each once. Money without a cap is never granted."
            )
        named = {cap for cap in self.caps if cap.kind.is_of_a_mandate}
        if named != set(self.mandate.caps if self.mandate else ()):
            raise BadInput(f"{self.key} names the mandate caps {sorted(named)}: pass that mandate's room with them")


def reserve(ledger: Ledger, request: Reservation, *, time_to_send: timedelta = DEFAULT_TIME_TO_SEND) -> Receipt:
    """Set the amount aside under every cap, or raise and change nothing.

    Daily caps count it on the account's current day, which stays the transfer's day for good. A refused request does
    not use up its key. For a used key the receipt has the current state of that transfer.
    """
    if not timedelta(0) < time_to_send <= MAX_TIME_TO_SEND:
        raise BadInput(f"{request.key} has {time_to_send} to be sent; allowed: more than 0, up to {MAX_TIME_TO_SEND}")
    now = ledger.clock.now()
    with ledger.spending() as connection:
        account = find_account(connection, request.account_id)
        day = account_day(now, account.time_zone).isoformat()
        if not _take_key(connection, request, account, day, ledger.now_ms(), time_to_send):
            return _replayed(connection, request)
        ledger.at_point("key taken")
        for bucket in buckets_of(request.caps, day):
            if request.mandate is not None and bucket.cap.kind.is_of_a_mandate:
                check_ceiling(connection, bucket, request.mandate, account)
            take_room(connection, bucket, request.amount, account.id)
            ledger.at_point("room taken")
        write_movements(connection, request.key, ledger.now_ms(), held(request.amount.micros))
        ledger.at_point("journal written")
    return Receipt(request.key, TransferState.RESERVED, is_new=True)


def mark_in_flight(ledger: Ledger, key: str) -> Receipt:
    """Mark a reservation as about to be sent; send it only after this returns.

    From now on its room is held until the outcome is known. A receipt that is not new means that an earlier attempt
    got this far: do not send, look it up on the platform first.
    """
    with ledger.spending() as connection:
        now_ms = ledger.now_ms()
        amount_micros = connection.execute(_SEND, {"key": key, "now_ms": now_ms}).scalar_one_or_none()
        if amount_micros is not None:
            ledger.at_point("marked in flight")
            # Release and hold again: the second hold is how the journal records that it was sent.
            write_movements(connection, key, now_ms, released(amount_micros), held(amount_micros))
            return Receipt(key, TransferState.IN_FLIGHT, is_new=True)
        transfer = get_transfer(connection, key)
        if transfer.state is TransferState.RESERVED:
            raise WrongState(f"{key} had to be sent at least {now_ms - transfer.expires_at_ms} ms ago: reserve again")
        if transfer.state in (TransferState.VOIDED, TransferState.EXPIRED):
            raise WrongState(f"{key} is {transfer.state}, only a reserved transfer can be sent: use a new key")
        return Receipt(key, transfer.state, is_new=False)


def _take_key(
    connection: Connection, request: Reservation, account: AdAccount, day: str, now_ms: int, time_to_send: timedelta
) -> bool:
    """Store the transfer; return False if its key was used before."""
    if account.currency != request.amount.currency:
        raise BadInput(
            f"{request.key} is in {request.amount.currency}, account {account.id} is billed in {account.currency}:"
            " convert it first"
        )
    values = {
        "key": request.key,
        "account_id": account.id,
        "currency": account.currency,
        "amount_micros": request.amount.micros,
        "caps": caps_as_json(request.caps),
        "day": day,
        "now_ms": now_ms,
        "expires_at_ms": now_ms + int(time_to_send.total_seconds() * 1000),
    }
    return connection.execute(_INSERT, values).rowcount == 1


def _replayed(connection: Connection, request: Reservation) -> Receipt:
    before = get_transfer(connection, request.key)
    stored = (before.account_id, Money(before.amount_micros, before.currency), caps_as_json(before.caps))
    given = (request.account_id, request.amount, caps_as_json(request.caps))
    if stored != given:
        raise KeyReused(
            f"the key {request.key!r} was used for {stored[1]} of {stored[0]} under {stored[2]}, now for {given[1]} of"
            f" {given[0]} under {given[2]}: a new request needs a new key"
        )
    return Receipt(request.key, before.state, is_new=False)
