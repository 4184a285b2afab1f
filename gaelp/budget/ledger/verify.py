"""Recompute every balance of the ledger from its transfers, adjustments and journal, and tell where they disagree.

Three records are kept of the same money: the journal (what moved), the transfers (where each stands) and the buckets of
the caps (the sums that grants are checked against). They are written together; here each is derived from the other.
"""

from collections.abc import Iterator

from sqlalchemy import Connection, text

from gaelp.budget.ledger.connection import Ledger
from gaelp.budget.ledger.transfers import COLUMNS, State, Transfer
from gaelp.config.base import Frozen
from gaelp.money import Micros

__all__ = ["Finding", "Verification", "verify"]

_MOST_FINDINGS = 1000
_BATCH = 1000


class Finding(Frozen):
    """One contradiction: where it is, what was recomputed and what stands there."""

    where: str
    what: str
    expected: int
    found: int


class Verification(Frozen):
    """What was recomputed; the books balance if there are no findings."""

    transfers: int
    entries: int
    adjustments: int
    caps: int
    breached_caps: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def balances(self) -> bool:
        """Whether the books are in order; a breached cap is a fact in them, not a fault of them."""
        return not self.findings


_BALANCES = (
    "SELECT transfer_key,"
    " SUM(CASE WHEN debit = 'reserved' THEN micros WHEN credit = 'reserved' THEN -micros ELSE 0 END) AS reserved,"
    " SUM(CASE WHEN debit = 'spent' THEN micros WHEN credit = 'spent' THEN -micros ELSE 0 END) AS spent"
    " FROM ledger_entry GROUP BY transfer_key"
)
_TRANSFERS = text(
    f"SELECT {', '.join('t.' + name for name in COLUMNS.split(', '))},"  # noqa: S608 - constants of the package
    " COALESCE(e.reserved, 0) AS journal_reserved, COALESCE(e.spent, 0) AS journal_spent,"
    " COALESCE(a.adjusted, 0) AS adjustments"
    f" FROM ledger_transfer t LEFT JOIN ({_BALANCES}) e ON e.transfer_key = t.key"
    " LEFT JOIN (SELECT transfer_key, SUM(micros) AS adjusted FROM ledger_adjustment GROUP BY transfer_key) a"
    " ON a.transfer_key = t.key"
)
_COUNT = "SELECT COUNT(*) FROM {table}"
_STRAY = (
    "SELECT COUNT(*) FROM {table} x WHERE NOT EXISTS (SELECT 1 FROM ledger_transfer t WHERE t.key = x.transfer_key)"
)
_CAPS = text("SELECT id, limit_micros, reserved_micros, posted_micros, breached FROM ledger_cap ORDER BY id")


def verify(ledger: Ledger) -> Verification:
    """Recompute everything as of one moment; other processes may go on writing meanwhile."""
    sums: dict[str, list[Micros]] = {}
    findings: list[Finding] = []
    breached: list[str] = []
    with ledger.snapshot() as connection:
        findings += _check_transfers(connection, sums)
        findings += _check_strays(connection)
        for row in connection.execute(_CAPS):
            reserved, posted = sums.pop(row.id, [0, 0])
            findings += _differences(
                row.id,
                ("reserved, from transfers", reserved, row.reserved_micros),
                ("posted, from transfers", posted, row.posted_micros),
            )
            if row.breached:
                breached.append(row.id)
            elif row.reserved_micros + row.posted_micros > row.limit_micros:
                used = row.reserved_micros + row.posted_micros
                findings.append(Finding(where=row.id, what="above its limit", expected=row.limit_micros, found=used))
        for bucket, (reserved, posted) in sums.items():
            findings.append(Finding(where=bucket, what="bucket is gone", expected=reserved + posted, found=0))
        counts = [
            int(connection.execute(text(_COUNT.format(table=f"ledger_{name}"))).scalar_one())
            for name in ("transfer", "entry", "adjustment", "cap")
        ]
    return Verification(
        transfers=counts[0],
        entries=counts[1],
        adjustments=counts[2],
        caps=counts[3],
        breached_caps=tuple(breached),
        findings=tuple(findings[:_MOST_FINDINGS]),
    )


def _check_transfers(connection: Connection, sums: dict[str, list[Micros]]) -> Iterator[Finding]:
    """Compare each transfer with its journal and adjustments, and add it to the sums of its buckets."""
    for row in connection.execution_options(yield_per=_BATCH).execute(_TRANSFERS):
        transfer = Transfer.from_row(row)
        reserved = 0 if transfer.state.is_final else transfer.amount_micros
        spent = transfer.posted_micros + transfer.adjusted_micros
        yield from _differences(
            transfer.key,
            ("reserved, in the journal", reserved, int(row.journal_reserved)),
            ("spent, in the journal", spent, int(row.journal_spent)),
            ("adjusted, from adjustments", int(row.adjustments), transfer.adjusted_micros),
        )
        if transfer.state is not State.POSTED and transfer.posted_micros:
            yield Finding(where=transfer.key, what="posted without being so", expected=0, found=transfer.posted_micros)
        for bucket in transfer.buckets:
            total = sums.setdefault(bucket.id, [0, 0])
            total[0] += reserved
            total[1] += spent


def _check_strays(connection: Connection) -> Iterator[Finding]:
    for table in ("ledger_entry", "ledger_adjustment"):
        strays = int(connection.execute(text(_STRAY.format(table=table))).scalar_one())
        yield from _differences(table, ("rows without a transfer", 0, strays))


def _differences(where: str, *compared: tuple[str, int, int]) -> Iterator[Finding]:
    for what, expected, found in compared:
        if expected != found:
            yield Finding(where=where, what=what, expected=expected, found=found)
