"""Recompute every balance of the ledger from its transfers, adjustments and journal, and report where they disagree.

The same money is recorded three times: in the journal (movements), the transfers (states) and the buckets of the caps
(the sums that grants are checked against). They are written together; here each is derived from the others. Days and
currencies are compared with the account; accounts, limits and the fence are checked in verify_records.py.
"""

from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, ClassVar

from sqlalchemy import Connection, Row, text

from gaelp.budget.ledger.caps import CapKind
from gaelp.budget.ledger.connection import Ledger
from gaelp.budget.ledger.findings import LedgerFinding, differences
from gaelp.budget.ledger.refusals import LedgerBroken
from gaelp.budget.ledger.transfers import COLUMNS, Transfer, TransferState
from gaelp.budget.ledger.verify_mandates import StopHistory, check_ended, read_stop_history
from gaelp.budget.ledger.verify_records import Records, check_records, read_records
from gaelp.budget.ledger.verify_steps import check_steps
from gaelp.clock import account_day
from gaelp.config.base import Frozen
from gaelp.money import Micros

__all__ = ["LedgerFinding", "Verification", "verify"]

_MOST_FINDINGS = 1000
_BATCH = 1000
# A reservation reads the clock for its day, may wait for the database, and then gets its timestamp.
_MOST_WAIT_MS = 600_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Verification(Frozen):
    """The result; the ledger balances if there are no findings. At most 1000 findings are kept."""

    checked: ClassVar[str] = (
        "balances, states, days, currencies, accounts, caps, mandates, the fence and orders; `gaelp audit verify`"
        " compares limits with the audit log"
    )

    transfers: int
    entries: int
    adjustments: int
    caps: int
    breached_caps: tuple[str, ...]
    findings: tuple[LedgerFinding, ...]

    @property
    def balances(self) -> bool:
        """Whether the ledger is consistent; a breached cap is no inconsistency."""
        return not self.findings


@dataclass(slots=True)
class _Sum:
    """What the transfers of one bucket hold and cost, and when the first of them was created."""

    reserved_micros: Micros = 0
    posted_micros: Micros = 0
    first_ms: int | None = None

    def add(self, transfer: Transfer, reserved: Micros, spent: Micros) -> None:
        self.reserved_micros += reserved
        self.posted_micros += spent
        self.first_ms = min(self.first_ms or transfer.created_at_ms, transfer.created_at_ms)


_BALANCES = (
    "SELECT transfer_key,"
    " SUM(CASE WHEN debit = 'reserved' THEN micros WHEN credit = 'reserved' THEN -micros ELSE 0 END) AS reserved,"
    " SUM(CASE WHEN debit = 'spent' THEN micros WHEN credit = 'spent' THEN -micros ELSE 0 END) AS spent,"
    " SUM(CASE WHEN debit = 'reserved' THEN 1 ELSE 0 END) AS holds,"
    " MAX(CASE WHEN credit = 'reserved' THEN at_ms ELSE 0 END) AS released_at_ms"
    " FROM ledger_entry GROUP BY transfer_key"
)
_TRANSFERS = text(
    f"SELECT {', '.join('t.' + name for name in COLUMNS.split(', '))},"  # noqa: S608 - constants of the package
    " COALESCE(e.reserved, 0) AS journal_reserved, COALESCE(e.spent, 0) AS journal_spent,"
    " COALESCE(e.holds, 0) AS holds, COALESCE(e.released_at_ms, 0) AS released_at_ms,"
    " COALESCE(a.adjusted, 0) AS adjustments"
    f" FROM ledger_transfer t LEFT JOIN ({_BALANCES}) e ON e.transfer_key = t.key"
    " LEFT JOIN (SELECT transfer_key, SUM(micros) AS adjusted FROM ledger_adjustment GROUP BY transfer_key) a"
    " ON a.transfer_key = t.key"
)
_COUNT = "SELECT COUNT(*) FROM {table}"
_STRAY = (
    "SELECT COUNT(*) FROM {table} x WHERE NOT EXISTS (SELECT 1 FROM ledger_transfer t WHERE t.key = x.transfer_key)"
)


def verify(ledger: Ledger) -> Verification:
    """Recompute everything from one snapshot; other processes may write meanwhile."""
    with ledger.snapshot() as connection:
        records = read_records(connection)
        # Causes come before their consequences, because only the first findings are kept.
        stops = read_stop_history(connection, orders_have_wall_time=ledger.has_wall_time)
        with closing(_findings(connection, records, ledger.clock.now(), stops)) as all_findings:
            findings = tuple(islice(all_findings, _MOST_FINDINGS))
        counts = [
            int(connection.execute(text(_COUNT.format(table=f"ledger_{name}"))).scalar_one())
            for name in ("transfer", "entry", "adjustment", "cap")
        ]
    return Verification(
        transfers=counts[0],
        entries=counts[1],
        adjustments=counts[2],
        caps=counts[3],
        breached_caps=tuple(
            bucket.id for bucket in records.buckets.values() if bucket.breached and not _is_of_a_mandate(bucket)
        ),
        findings=findings,
    )


def _findings(connection: Connection, records: Records, now: datetime, stops: StopHistory) -> Generator[LedgerFinding]:
    sums: dict[str, _Sum] = {}
    yield from check_records(connection, records, now)
    yield from _check_transfers(connection, records, sums)
    yield from _check_strays(connection)
    yield from _check_sums(records, sums, stops)


def _check_transfers(connection: Connection, records: Records, sums: dict[str, _Sum]) -> Iterator[LedgerFinding]:
    """Check each transfer, and add it to the sums of its buckets."""
    with connection.execution_options(yield_per=_BATCH).execute(_TRANSFERS) as rows:
        for row in rows:
            try:
                transfer = Transfer.from_row(row)
            except LedgerBroken:
                actual = f"{row.caps[:80]} {row.state}"
                yield LedgerFinding(where=row.key, what="caps and state", expected="readable", actual=actual)
                continue
            reserved = 0 if transfer.state.is_final else transfer.amount_micros
            spent = transfer.posted_micros + transfer.adjusted_micros
            yield from _check_amounts(transfer, row, reserved, spent)
            yield from check_steps(transfer, int(row.holds), int(row.released_at_ms))
            yield from _check_account(transfer, records)
            for bucket_id in [bucket.id for bucket in transfer.buckets]:
                yield from _check_bucket(transfer, records.buckets.get(bucket_id))
                sums.setdefault(bucket_id, _Sum()).add(transfer, reserved, spent)


def _check_amounts(transfer: Transfer, row: Row[Any], reserved: Micros, spent: Micros) -> Iterator[LedgerFinding]:
    """Compare a transfer with its journal and adjustments."""
    yield from differences(
        transfer.key,
        ("reserved, in the journal", reserved, int(row.journal_reserved)),
        ("spent, in the journal", spent, int(row.journal_spent)),
        ("adjusted, from adjustments", int(row.adjustments), transfer.adjusted_micros),
    )
    if transfer.state is not TransferState.POSTED and transfer.posted_micros:
        yield LedgerFinding(
            where=transfer.key, what="posted without being so", expected=0, actual=transfer.posted_micros
        )


def _check_account(transfer: Transfer, records: Records) -> Iterator[LedgerFinding]:
    account = records.accounts.get(transfer.account_id)
    if account is None:
        yield LedgerFinding(
            where=transfer.key, what="account", expected="one of the ledger", actual=transfer.account_id
        )
        return
    yield from differences(transfer.key, ("currency, of its account", account.currency, transfer.currency))
    if account.id not in records.with_days:
        return
    day = _day_at(transfer.created_at_ms, account.time_zone)
    if transfer.day == day or transfer.day == _day_at(transfer.created_at_ms - _MOST_WAIT_MS, account.time_zone):
        return
    yield LedgerFinding(where=transfer.key, what="day, in its account's time zone", expected=day, actual=transfer.day)


def _check_bucket(transfer: Transfer, bucket: Row[Any] | None) -> Iterator[LedgerFinding]:
    """Compare account and currency with the bucket; a missing bucket is reported with its sums."""
    if bucket is None or (
        transfer.currency == bucket.currency and bucket.account_id in ("", transfer.account_id)  # a total has none
    ):
        return
    yield from differences(
        transfer.key,
        (f"currency, of {bucket.id}", bucket.currency, transfer.currency),
        (f"account, of {bucket.id}", bucket.account_id or transfer.account_id, transfer.account_id),
    )


def _check_strays(connection: Connection) -> Iterator[LedgerFinding]:
    for table in ("ledger_entry", "ledger_adjustment"):
        strays = int(connection.execute(text(_STRAY.format(table=table))).scalar_one())
        yield from differences(table, ("rows without a transfer", 0, strays))


def _check_sums(records: Records, sums: dict[str, _Sum], stops: StopHistory) -> Iterator[LedgerFinding]:
    for row in records.buckets.values():
        total = sums.pop(row.id, _Sum())
        yield from differences(
            row.id,
            ("reserved, from transfers", total.reserved_micros, row.reserved_micros),
            ("posted, from transfers", total.posted_micros, row.posted_micros),
        )
        yield from check_ended(row, total.first_ms, stops)
        used = row.reserved_micros + row.posted_micros
        if not row.breached and used > row.limit_micros:
            yield LedgerFinding(where=row.id, what="above its limit", expected=row.limit_micros, actual=used)
    for bucket, total in sums.items():
        used = total.reserved_micros + total.posted_micros
        yield LedgerFinding(where=bucket, what="bucket is gone", expected=used, actual=0)


def _is_of_a_mandate(bucket: Row[Any]) -> bool:
    """Whether it is a ceiling of a mandate: those are closed when the mandate ends, not by a breach alone."""
    return bucket.kind in set(CapKind) and CapKind(bucket.kind).is_of_a_mandate


def _day_at(instant_ms: int, zone: str) -> str:
    try:
        return account_day(_EPOCH + timedelta(milliseconds=instant_ms), zone).isoformat()
    except OverflowError:
        return "a day of the calendar"
