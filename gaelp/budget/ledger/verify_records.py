"""Check the records that balances depend on against each other: accounts, limits, their buckets, the fence."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, text

from gaelp.budget.latch import StopRecord
from gaelp.budget.ledger.accounts import AdAccount
from gaelp.budget.ledger.caps import Bucket, Cap, CapKind
from gaelp.budget.ledger.findings import LedgerFinding, differences
from gaelp.budget.ledger.verify_signed import check_signed_changes
from gaelp.clock import account_day
from gaelp.errors import BadInput
from gaelp.money import Money

__all__ = ["Records", "check_records", "read_records"]

# Clocks of two machines differ: a day that ends within the hour may be over on the one that set a limit.
_CLOCKS_DIFFER = timedelta(hours=1)

_ACCOUNTS = text("SELECT id, currency, time_zone FROM ledger_account ORDER BY id")
_LIMITS = text("SELECT kind, subject, account_id, currency, limit_micros FROM ledger_limit ORDER BY kind, subject")
_CAPS = text(
    "SELECT id, kind, subject, day, account_id, currency, limit_micros, reserved_micros, posted_micros, breached"
    " FROM ledger_cap ORDER BY id"
)
_FENCE = text("SELECT stop_id, record FROM ledger_fence")
_TOTAL = "all"  # the one total that every order counts against


@dataclass(frozen=True, slots=True)
class Records:
    """Accounts by id, the ids of those with a valid time zone, limits by kind and subject, buckets by id."""

    accounts: dict[str, AdAccount]
    with_days: frozenset[str]
    limits: dict[tuple[str, str], Row[Any]]
    buckets: dict[str, Row[Any]]


def read_records(connection: Connection) -> Records:
    """Read all of them."""
    accounts = {row.id: AdAccount(row.id, row.currency, row.time_zone) for row in connection.execute(_ACCOUNTS)}
    return Records(
        accounts,
        frozenset(account.id for account in accounts.values() if _is_zone(account.time_zone)),
        {(row.kind, row.subject): row for row in connection.execute(_LIMITS)},
        {row.id: row for row in connection.execute(_CAPS)},
    )


def check_records(connection: Connection, records: Records, now: datetime) -> Iterator[LedgerFinding]:
    """Report what is missing, unknown, or differs from its source."""
    for account in records.accounts.values():
        yield from _check_account(account, records)
    for limit in records.limits.values():
        yield from _check_limit(limit, records)
    for bucket in records.buckets.values():
        yield from _check_bucket(bucket, records, now)
    yield from _check_fence(connection)
    yield from check_signed_changes(connection)


def _check_account(account: AdAccount, records: Records) -> Iterator[LedgerFinding]:
    where = f"account {account.id}"
    try:
        Money(0, account.currency)
    except BadInput:
        yield LedgerFinding(where=where, what="currency", expected="a code of ISO 4217", actual=account.currency)
    if account.id not in records.with_days:
        yield LedgerFinding(where=where, what="time zone", expected="an IANA name", actual=account.time_zone)


def _check_limit(limit: Row[Any], records: Records) -> Iterator[LedgerFinding]:
    where = f"limit {limit.kind} {limit.subject}"
    if limit.kind not in set(CapKind):
        yield LedgerFinding(where=where, what="kind", expected=", ".join(CapKind), actual=limit.kind)
    elif limit.kind == CapKind.TOTAL:
        yield from differences(where, ("account", "", limit.account_id), ("subject", _TOTAL, limit.subject))
    elif limit.account_id not in records.accounts:
        yield LedgerFinding(
            where=where, what="account", expected="one of the ledger", actual=limit.account_id or "none"
        )
    else:
        yield from differences(where, ("currency", records.accounts[limit.account_id].currency, limit.currency))
    if limit.kind in (CapKind.ACCOUNT, CapKind.ACCOUNT_DAY):
        yield from differences(where, ("account, of its subject", limit.subject, limit.account_id))


def _check_bucket(bucket: Row[Any], records: Records, now: datetime) -> Iterator[LedgerFinding]:
    try:
        cap = Cap(CapKind(bucket.kind), bucket.subject)
    except (ValueError, BadInput):
        actual = f"{bucket.kind} {bucket.subject}"
        yield LedgerFinding(where=bucket.id, what="cap", expected="a known kind and a subject", actual=actual)
        return
    yield from differences(bucket.id, ("name, from its parts", Bucket(cap, bucket.day).id, bucket.id))
    if bucket.breached not in (0, 1):
        yield LedgerFinding(where=bucket.id, what="breached", expected="0 or 1", actual=bucket.breached)
    if cap.kind.is_of_a_mandate:  # its limit comes from the signed mandate, with each order
        account = records.accounts.get(bucket.account_id)
        currency = account.currency if account else "that of an account of the ledger"
        yield from differences(bucket.id, ("currency, of its account", currency, bucket.currency))
        return
    limit = records.limits.get((bucket.kind, bucket.subject))
    if limit is None:
        yield LedgerFinding(where=bucket.id, what="its limit is gone", expected=bucket.limit_micros, actual="none")
        return
    yield from differences(
        bucket.id,
        ("account, of its limit", limit.account_id, bucket.account_id),
        ("currency, of its limit", limit.currency, bucket.currency),
    )
    if _follows_its_limit(bucket, records, now):
        yield from differences(bucket.id, ("limit, as it was set", limit.limit_micros, bucket.limit_micros))


def _follows_its_limit(bucket: Row[Any], records: Records, now: datetime) -> bool:
    """Whether its limit must be the current one; a past day keeps the limit of that day."""
    if not bucket.day:
        return True
    if bucket.account_id not in records.with_days:
        return False
    zone = records.accounts[bucket.account_id].time_zone
    return bool(bucket.day >= account_day(now + _CLOCKS_DIFFER, zone).isoformat())


def _check_fence(connection: Connection) -> Iterator[LedgerFinding]:
    rows = connection.execute(_FENCE).all()
    yield from differences("ledger_fence", ("rows", 1, len(rows)))
    for row in rows:
        if not row.stop_id:
            yield from differences("ledger_fence", ("record, without a stop", "", row.record))
        else:
            yield from differences("ledger_fence", ("stop, from its record", _recorded_stop(row.record), row.stop_id))


def _recorded_stop(record: str) -> str:
    try:
        return StopRecord.from_json(record).id
    except ValueError:
        return "a readable record"


def _is_zone(name: str) -> bool:
    try:
        account_day(datetime(1970, 1, 1, tzinfo=UTC), name)
    except BadInput:
        return False
    return True
