"""Read stored tables for the logged dataset: texts as numbers, times as whole seconds, cells as one sortable key."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gaelp.arrays import Bools, Floats, Ints
from gaelp.storage.schema import TABLES, TableName
from gaelp.storage.store import EpisodeStore, RowFilter

__all__ = ["UNKNOWN", "LogCells", "codes", "floats", "ints", "read_rows", "seconds", "sorted_names"]

UNKNOWN = -1  # the code of a null or of a name that is not in the list, and of a count that the log does not have
_MICROSECONDS = 1_000_000


def read_rows(store: EpisodeStore, name: TableName, rows: RowFilter, columns: Sequence[str]) -> pa.Table:
    """The matching rows as one table; texts are dictionary-encoded, which makes millions of rows fit and join fast."""
    schema = pa.schema([_encoded(TABLES[name].columns.field(column)) for column in columns])
    parts = [part.cast(schema) for part in store.scan(name, rows, columns)]
    return pa.concat_tables([schema.empty_table(), *parts]).unify_dictionaries().combine_chunks()


def sorted_names(column: pa.ChunkedArray) -> tuple[str, ...]:
    """The distinct texts of a column in order; nulls are left out."""
    return tuple(sorted(str(name) for name in pc.unique(column.cast(pa.string())).drop_null().to_pylist()))


def codes(column: pa.ChunkedArray, names: Sequence[str]) -> Ints:
    """The place of each text in a list of names, shape (R,); UNKNOWN where it is null or not in the list."""
    parts = []
    for chunk in column.chunks:
        places = pc.fill_null(pc.index_in(chunk.dictionary, value_set=pa.array(names, pa.string())), UNKNOWN)
        table = np.append(places.to_numpy(zero_copy_only=False).astype(np.int64), UNKNOWN)
        parts.append(table[pc.fill_null(chunk.indices, len(chunk.dictionary)).to_numpy(zero_copy_only=False)])
    return np.concatenate([np.zeros(0, np.int64), *parts])


def seconds(column: pa.ChunkedArray) -> Ints:
    """Times as whole seconds since 1970 UTC, shape (R,); UNKNOWN where there is none."""
    return np.asarray(ints(column.cast(pa.int64()), missing=UNKNOWN * _MICROSECONDS) // _MICROSECONDS)


def ints(column: pa.ChunkedArray, *, missing: int = UNKNOWN) -> Ints:
    """Whole numbers, shape (R,), with a stated number in the place of nulls."""
    return _numpy(pc.fill_null(column, missing)).astype(np.int64)


def floats(column: pa.ChunkedArray, *, missing: float = np.nan) -> Floats:
    """Numbers, shape (R,), with a stated number in the place of nulls."""
    return _numpy(pc.fill_null(column, missing)).astype(np.float64)


@dataclass(frozen=True, slots=True)
class LogCells:
    """The K cells of a log, each an hour of a campaign's segment, sorted so that rows of other tables are looked up.

    A log should have one row a cell; one that has more gets the figures of the cell in each, so that none is lost
    before the repetition is reported.
    """

    pairs: Ints  # (G,) sorted campaign * segments + segment
    segments: int
    first_s: int
    span_s: int
    keys: Ints  # (K,) sorted
    of_row: Ints  # (R,) the cell of each row

    @classmethod
    def of(cls, campaign: Ints, segment: Ints, start_s: Ints, segments: int) -> "LogCells":
        """Arrange the rows of a log."""
        pairs = np.unique(campaign * segments + segment)
        first, last = (int(start_s.min()), int(start_s.max())) if len(start_s) else (0, 0)
        span = last - first + 1
        empty = cls(pairs, segments, first, span, np.zeros(0, np.int64), np.zeros(0, np.int64))
        keys, of_row = np.unique(empty._keyed(campaign, segment, start_s)[0], return_inverse=True)
        return cls(pairs, segments, first, span, keys, of_row.reshape(-1))

    def exact(self, campaign: Ints, segment: Ints, start_s: Ints) -> Ints:
        """The cell whose hour begins at this second, shape (n,); UNKNOWN where there is none."""
        cell, key = self._last_before(campaign, segment, start_s)
        return np.where((cell >= 0) & (self.keys[cell] == key), cell, UNKNOWN) if len(self.keys) else cell

    def containing(self, campaign: Ints, segment: Ints, at_s: Ints, *, hour_s: int = 3600) -> Ints:
        """The cell in whose hour an event happened, shape (n,); UNKNOWN where there is none."""
        cell, key = self._last_before(campaign, segment, at_s, at_most_s=self.first_s + self.span_s - 1)
        if not len(self.keys):
            return cell
        start = self.first_s + self.keys[cell] % self.span_s
        same = (self.keys[cell] // self.span_s == key // self.span_s) & (at_s - start < hour_s)
        return np.where((cell >= 0) & same, cell, UNKNOWN)

    def _last_before(
        self, campaign: Ints, segment: Ints, at_s: Ints, *, at_most_s: int | None = None
    ) -> tuple[Ints, Ints]:
        """Place of the last key that is not above each event's, UNKNOWN where the event can have none; and the keys."""
        capped = at_s if at_most_s is None else np.minimum(at_s, at_most_s)
        key, known = self._keyed(campaign, segment, capped)
        place = np.searchsorted(self.keys, key, side="right") - 1
        return np.where(known, place, UNKNOWN).astype(np.int64), key

    def _keyed(self, campaign: Ints, segment: Ints, at_s: Ints) -> tuple[Ints, Bools]:
        pair = campaign * self.segments + segment
        group = np.searchsorted(self.pairs, pair)
        inside = group < len(self.pairs)
        is_pair = inside & (self.pairs[np.where(inside, group, 0)] == pair) if len(self.pairs) else inside
        in_time = (at_s >= self.first_s) & (at_s < self.first_s + self.span_s)
        known = is_pair & in_time & (campaign >= 0) & (segment >= 0)
        return group * self.span_s + np.clip(at_s - self.first_s, 0, self.span_s - 1), known


def _numpy(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    return np.asarray(column.combine_chunks().to_numpy(zero_copy_only=False) if len(column) else [])


def _encoded(field: pa.Field) -> pa.Field:
    return field.with_type(pa.dictionary(pa.int32(), pa.string())) if field.type == pa.string() else field
