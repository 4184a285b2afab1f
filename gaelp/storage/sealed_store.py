"""A store that withholds the rows of sealed windows from every reader; all else it passes on.

`build_store` puts it around every store, so calibration, training, checks, exports and listings have the same wall.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc

from gaelp.storage.held_out import is_held_out
from gaelp.storage.schema import TableName
from gaelp.storage.seals import Seal, SealBook
from gaelp.storage.store import Appended, EpisodeStore, RowFilter, StoredPart, check_columns
from gaelp.types import Phase

__all__ = ["SealedStore", "open_sealed", "withheld_note", "withheld_rows"]

_COMMON = ("at", "phase", "source", "campaign")
# What a row is about ends here, where that is not `at`: the click of a conversion, the last hour that a sum has.
_TIME_COLUMN = {TableName.CONVERSIONS: "click_at", TableName.EPISODES: "ended_at"}
_PERIOD_TABLES = (TableName.BID_SIMULATIONS, TableName.KEYWORD_TOTALS)


class SealedStore:
    """Another store, without the rows that a seal in force withholds."""

    def __init__(self, inner: EpisodeStore, seals: SealBook) -> None:
        self._inner = inner
        self._seals = seals
        self._withheld: dict[TableName, int] = {}

    def append(self, batch: Mapping[TableName, pa.Table]) -> Appended:
        """Store rows; those of a sealed window are stored and withheld."""
        return self._inner.append(batch)

    def scan(
        self, table: TableName, rows: RowFilter | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[pa.Table]:
        """Yield the matching rows that no seal withholds, in tables of at most SCAN_ROWS rows, ordered by day."""
        table = TableName(table)
        wanted = check_columns(table, columns)
        asks_history = rows is None or not rows.phases or Phase.HISTORY in rows.phases
        seals = self._seals.in_force() if asks_history else ()
        if not seals:
            return self._inner.scan(table, rows, wanted)
        return self._unsealed(table, rows, wanted, seals)

    def _unsealed(
        self, table: TableName, rows: RowFilter | None, wanted: tuple[str, ...], seals: Sequence[Seal]
    ) -> Iterator[pa.Table]:
        self._withheld[table] = 0
        extra = [name for name in _columns_read(table) if name not in wanted]
        for part in self._inner.scan(table, rows, (*wanted, *extra)):
            is_sealed = _sealed(table, part, seals)
            sealed = pc.sum(is_sealed).as_py() or 0
            self._withheld[table] += sealed
            kept = part.filter(pc.invert(is_sealed)) if sealed else part
            if kept.num_rows:
                yield kept.select(list(wanted))

    def describe(self) -> Sequence[StoredPart]:
        """Return what is stored, also what is withheld: numbers of rows say nothing about their content."""
        return self._inner.describe()

    def hold(self, source: str, reason: str) -> None:
        """Put a legal hold on what a run or import wrote."""
        self._inner.hold(source, reason)

    def release_hold(self, source: str) -> None:
        """End a legal hold."""
        self._inner.release_hold(source)

    def holds(self) -> Mapping[str, str]:
        """Return the reason of each legal hold, by source."""
        return self._inner.holds()

    def remove_before(self, day: date, tables: Sequence[TableName], phases: Sequence[Phase] = tuple(Phase)) -> int:
        """Delete old rows, withheld ones included; a sealed window that lost rows cannot be opened any more."""
        return self._inner.remove_before(day, tables, phases)

    def close(self) -> None:
        """Release files and connections."""
        self._inner.close()

    @property
    def withheld(self) -> Mapping[TableName, int]:
        """How many rows of each table its newest scan withheld."""
        return {table: rows for table, rows in self._withheld.items() if rows}

    @property
    def inner(self) -> EpisodeStore:
        """The store without its wall; `open_sealed` says who may use it."""
        return self._inner


def open_sealed(store: EpisodeStore) -> EpisodeStore:
    """The store without its wall. Only gaelp.history may call it: to fix windows, and to open one under a ticket."""
    return store.inner if isinstance(store, SealedStore) else store


def withheld_rows(store: EpisodeStore) -> Mapping[TableName, int]:
    """How many rows of each table the newest scan of it withheld; none by a store without seals."""
    return store.withheld if isinstance(store, SealedStore) else {}


def withheld_note(store: EpisodeStore) -> str | None:
    """One sentence about what was withheld, for people; None if nothing was."""
    withheld = withheld_rows(store)
    if not withheld:
        return None
    listed = ", ".join(f"{rows:,} of {table}" for table, rows in withheld.items())
    return (
        f"{sum(withheld.values()):,} rows were withheld ({listed}): they are in a sealed window, which only a ticket of"
        " the gate opens (docs/history-data.md)."
    )


def _columns_read(table: TableName) -> tuple[str, ...]:
    if table in _PERIOD_TABLES:
        return (*_COMMON, "period_end")
    return (*_COMMON, _TIME_COLUMN[table]) if table in _TIME_COLUMN else _COMMON


def _sealed(table: TableName, rows: pa.Table, seals: Sequence[Seal]) -> pa.ChunkedArray:
    is_sealed = pa.chunked_array([pa.repeat(False, rows.num_rows)])
    for seal in seals:
        withheld = pc.or_(_is_later(table, rows, seal), _is_held_out(rows, seal))
        is_sealed = pc.or_(is_sealed, pc.and_(_in_scope(rows, seal), withheld))
    return pc.and_(is_sealed, pc.equal(rows["phase"], Phase.HISTORY.value))


def _is_later(table: TableName, rows: pa.Table, seal: Seal) -> pa.ChunkedArray:
    at = rows["at"]
    if table in _TIME_COLUMN:
        at = pc.coalesce(rows[_TIME_COLUMN[table]], at)
    is_later = pc.greater_equal(at, pa.scalar(seal.withheld_from, at.type))
    if table in _PERIOD_TABLES:
        period_end = rows["period_end"]
        in_period = pc.greater_equal(period_end, pa.scalar(seal.withheld_day, period_end.type))
        return pc.coalesce(in_period, is_later)
    return is_later


def _in_scope(rows: pa.Table, seal: Seal) -> pa.ChunkedArray:
    if not seal.sources:
        return pa.chunked_array([pa.repeat(True, rows.num_rows)])
    by_source = pc.is_in(rows["source"], value_set=pa.array(seal.sources, pa.string()))
    return pc.or_(by_source, pc.is_in(rows["campaign"], value_set=pa.array(seal.campaigns, pa.string())))


def _is_held_out(rows: pa.Table, seal: Seal) -> pa.ChunkedArray:
    names = pc.unique(rows["campaign"]).to_pylist() if seal.held_out_share else []
    held_out = [name for name in names if is_held_out(name, key=seal.held_out_key, share=seal.held_out_share)]
    return pc.is_in(rows["campaign"], value_set=pa.array(held_out, pa.string()))
