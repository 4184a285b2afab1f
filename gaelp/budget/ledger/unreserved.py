"""Cost that nobody reserved for: a separate transfer that never held room, to which the cost is booked as adjustments.

The cost has happened, so no cap can refuse it. It counts under every cap that has a limit; a cap without room is
breached and closed. A cap without a limit grants nothing and has no row to count in.
"""

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, text

from gaelp.budget.ledger.accounts import AdAccount, find_account
from gaelp.budget.ledger.caps import Cap, buckets_of, open_bucket
from gaelp.budget.ledger.connection import Ledger
from gaelp.budget.ledger.input_checks import check_word
from gaelp.budget.ledger.journal import held, released, write_movements
from gaelp.budget.ledger.transfers import Transfer, caps_as_json, get_transfer
from gaelp.errors import BadInput

__all__ = ["open_unreserved"]

_LEAST_MICROS = 1  # the journal needs an amount; this one is held and released at once

_INSERT = text(
    "INSERT INTO ledger_transfer (key, account_id, currency, amount_micros, caps, day, state, posted_micros,"
    " adjusted_micros, created_at_ms, expires_at_ms)"
    " VALUES (:key, :account_id, :currency, :amount_micros, :caps, :day, 'voided', 0, 0, :at_ms, :at_ms)"
    " ON CONFLICT (key) DO NOTHING"
)
_HAS_LIMIT = text(
    "SELECT 1 FROM ledger_limit WHERE kind = :kind AND subject = :subject AND currency = :currency"
    " AND account_id IN (:account_id, '')"
)
# A mandate has no row among the limits: its bucket is opened when it is signed, that of a day by the day's first order.
_IS_OPEN = text("SELECT 1 FROM ledger_cap WHERE id = :id AND currency = :currency AND account_id = :account_id")


def open_unreserved(ledger: Ledger, key: str, *, account_id: str, day: date, caps: tuple[Cap, ...]) -> Transfer:
    """Get or create the transfer for the cost of a day that nothing was reserved for.

    It belongs to that day of the account, however late the cost becomes known.
    """
    check_word(key, "the key of a cost without a reservation")
    with ledger.transaction() as connection:
        account = find_account(connection, account_id)
        counted = tuple(cap for cap in caps if _can_count(connection, cap, account, day))
        if not counted:
            raise BadInput(f"{key} cannot be booked: none of its caps has a limit in {account.currency}; set one")
        values = {
            "key": key,
            "account_id": account.id,
            "currency": account.currency,
            "amount_micros": _LEAST_MICROS,
            "caps": caps_as_json(counted),
            "day": day.isoformat(),
            "at_ms": min(ledger.now_ms(), _last_ms(day, account)),
        }
        if connection.execute(_INSERT, values).rowcount == 1:
            for bucket in buckets_of(counted, day.isoformat()):
                open_bucket(connection, bucket)
            # Held and released in one step: `verify` expects every voided transfer to have held room once.
            write_movements(connection, key, ledger.now_ms(), held(_LEAST_MICROS), released(_LEAST_MICROS))
            ledger.at_point("journal written")
        return get_transfer(connection, key)


def _can_count(connection: Connection, cap: Cap, account: AdAccount, day: date) -> bool:
    """Whether a cap has a limit to count against."""
    values = {"currency": account.currency, "account_id": account.id}
    if cap.kind.is_of_a_mandate:
        [bucket] = buckets_of((cap,), day.isoformat())
        return connection.execute(_IS_OPEN, {**values, "id": bucket.id}).first() is not None
    return connection.execute(_HAS_LIMIT, {**values, "kind": cap.kind, "subject": cap.subject}).first() is not None


def _last_ms(day: date, account: AdAccount) -> int:
    """The last millisecond of a day of the account; cost booked later still belongs to that day."""
    end = datetime.combine(day + timedelta(days=1), time(), ZoneInfo(account.time_zone))
    return int(end.timestamp() * 1000) - 1
