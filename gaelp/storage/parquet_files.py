"""Parquet files of one table and day: written safely to disk, read back with their schema version."""

import os
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gaelp.errors import DataError
from gaelp.storage.schema import TABLES, TableName

__all__ = ["ROW_GROUP_ROWS", "by_day", "file_version", "may_have_ids", "read_batches", "write_rows"]

ROW_GROUP_ROWS = 122_880  # what DuckDB reads in one piece
_UNREPEATED = {"id", "conversion", "click", "auction"}  # text that differs in every row: a dictionary would cost


def by_day(table: pa.Table) -> Iterator[tuple[date, pa.Table]]:
    """Yield the rows of each day of `at`, in the order of days; rows that come in this order are not copied."""
    parts: dict[date, list[pa.RecordBatch]] = {}
    for batch in table.unify_dictionaries().to_batches():
        ordered, days = _sorted_by_day(batch)
        first = 0
        for run in pc.value_counts(days).to_pylist():
            parts.setdefault(run["values"], []).append(ordered.slice(first, run["counts"]))
            first += run["counts"]
    for day in sorted(parts):
        yield day, pa.Table.from_batches(parts[day])


def _sorted_by_day(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.Array]:
    days = batch.column("at").cast(pa.date32())
    if not pc.any(pc.less(days[1:], days[:-1])).as_py():
        return batch, days
    order = pc.sort_indices(days)
    return batch.take(order), days.take(order)


def write_rows(path: Path, name: TableName, tables: Sequence[pa.Table] | Iterator[pa.Table]) -> None:
    """Write the rows, one table or more of the same types, to a new file that survives a power cut."""
    schema = TABLES[name].columns
    repeated = [field.name for field in schema if pa.types.is_string(field.type) and field.name not in _UNREPEATED]
    rest = iter(tables)
    first = next(rest, schema.empty_table())
    with path.open("wb") as file:
        with pq.ParquetWriter(file, first.schema, compression="zstd", use_dictionary=repeated) as writer:
            for table in chain([first], rest):
                writer.write_table(table, row_group_size=ROW_GROUP_ROWS)
        file.flush()
        os.fsync(file.fileno())


def file_version(path: Path) -> int:
    """Return the schema version that a file was written with."""
    metadata: dict[bytes, Any] = _opened(path).schema_arrow.metadata or {}
    try:
        return int(metadata[b"schema_version"])
    except (KeyError, ValueError):
        raise DataError(f"{path} does not say its schema version: it was not written by gaelp; move it away") from None


def may_have_ids(path: Path, lowest: str, highest: str) -> bool:
    """Return whether a file may have an id between these two, by what Parquet keeps about each part of it.

    Ids begin with the run or import, so the files of others need not be searched.
    """
    metadata = _opened(path).metadata
    place = metadata.schema.names.index("id")
    ranges = [metadata.row_group(number).column(place).statistics for number in range(metadata.num_row_groups)]
    return any(part is None or not part.has_min_max or (part.min <= highest and part.max >= lowest) for part in ranges)


def read_batches(path: Path) -> Iterator[pa.Table]:
    """Yield all rows of a file, part by part."""
    for batch in _opened(path).iter_batches(ROW_GROUP_ROWS):
        yield pa.table(batch)


def _opened(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as problem:
        raise DataError(f"{path} is damaged ({problem}): restore it from a copy, or move it away") from problem
