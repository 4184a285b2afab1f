"""Parquet files of one table and day: written safely to disk, read back with their schema version."""

import os
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gaelp.errors import DataError
from gaelp.storage.schema import TABLES, TableName

__all__ = ["ROW_GROUP_ROWS", "by_day", "file_version", "read_batches", "write_rows"]

ROW_GROUP_ROWS = 122_880  # what DuckDB reads in one piece
_UNREPEATED = {"id", "conversion", "click", "auction"}  # text that differs in every row: a dictionary would cost


def by_day(table: pa.Table) -> Iterator[tuple[date, pa.Table]]:
    """Yield the rows of each day of `at`, in the order of days."""
    days = table.column("at").cast(pa.date32()).combine_chunks()
    distinct = sorted(pc.unique(days).to_pylist())
    if len(distinct) == 1:
        yield distinct[0], table
        return
    order = pc.sort_indices(days)
    ordered, days = table.take(order), days.take(order)
    counts = {row["values"]: row["counts"] for row in pc.value_counts(days).to_pylist()}
    first = 0
    for day in distinct:
        yield day, ordered.slice(first, counts[day])
        first += counts[day]


def write_rows(path: Path, name: TableName, tables: Sequence[pa.Table] | Iterator[pa.Table]) -> None:
    """Write the rows to a new file that survives a power cut."""
    schema = TABLES[name].columns
    repeated = [field.name for field in schema if pa.types.is_string(field.type) and field.name not in _UNREPEATED]
    with path.open("wb") as file:
        with pq.ParquetWriter(file, schema, compression="zstd", use_dictionary=repeated) as writer:
            for table in tables:
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


def read_batches(path: Path) -> Iterator[pa.Table]:
    """Yield all rows of a file, part by part."""
    for batch in _opened(path).iter_batches(ROW_GROUP_ROWS):
        yield pa.table(batch)


def _opened(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as problem:
        raise DataError(f"{path} is damaged ({problem}): restore it from a copy, or move it away") from problem
