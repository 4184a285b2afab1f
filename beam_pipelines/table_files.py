"""Parquet files through Beam's file systems: find them with their days, read them as large tables, write them whole.

Tables travel between workers as Arrow IPC in `bytes`: a pickled slice of a table would carry the whole of it.
"""

import json
import uuid
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime

import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems

from gaelp.errors import BadInput, DataError
from gaelp.jobs.screening import conform_table
from gaelp.jobs.shards import InputFile
from gaelp.storage.schema import TableName
from gaelp.storage.sealed_files import refuse_sealed_files

__all__ = [
    "find_files",
    "find_times",
    "pack_table",
    "read_json",
    "read_tables",
    "read_whole",
    "remove_files",
    "unpack_tables",
    "write_json",
    "write_table",
]

_KIND, _ORDER = b"gaelp_kind", b"gaelp_order"
_BATCH_ROWS = 65_536


def find_files(table: TableName, pattern: str, columns: Sequence[str] | None) -> tuple[InputFile, ...]:
    """The Parquet files that match, each with its rows and days; DataError names a file that cannot be used."""
    matched = FileSystems.match([pattern])[0].metadata_list
    if not matched:
        raise BadInput(f"no file matches {pattern}: `FOLDER/**.parquet` matches files in a folder and all below it")
    refuse_sealed_files(entry.path for entry in matched)
    files = [_described(table, entry, columns) for entry in sorted(matched, key=lambda entry: entry.path)]
    return tuple(file for file in files if file.rows)


def find_times(pattern: str) -> dict[str, float]:
    """When each file that matches was written, in seconds since 1970."""
    return {
        entry.path: float(entry.last_updated_in_seconds or 0) for entry in FileSystems.match([pattern])[0].metadata_list
    }


def _described(table: TableName, entry: object, columns: Sequence[str] | None) -> InputFile:
    path, size = entry.path, entry.size_in_bytes  # type: ignore[attr-defined]
    modified = float(entry.last_updated_in_seconds or 0)  # type: ignore[attr-defined]
    try:
        with FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED) as stream:
            file = pq.ParquetFile(stream)
            conform_table(file.schema_arrow.empty_table(), table, columns)
            first, last = _days(path, file)
            return InputFile(table.value, path, size, modified, file.metadata.num_rows, first, last)
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{path} is no readable Parquet file ({error}): remove it or write it again") from error


def _days(path: str, file: pq.ParquetFile) -> tuple[date | None, date | None]:
    """The first and the last day of `at`, from the statistics of the row groups."""
    place = file.schema_arrow.get_field_index("at")
    groups = [file.metadata.row_group(number).column(place).statistics for number in range(file.num_row_groups)]
    if not groups or any(group is None or not group.has_min_max for group in groups):
        return None, None
    if missing := sum(group.null_count or 0 for group in groups):
        raise DataError(f"{path} has {missing} rows without `at`: a row without a time belongs to no day; remove them")
    lows: list[datetime] = [group.min for group in groups]
    highs: list[datetime] = [group.max for group in groups]
    return min(lows).date(), max(highs).date()


def read_tables(
    table: TableName, paths: Sequence[str], columns: Sequence[str] | None, rows: int
) -> Iterator[tuple[str, pa.Table]]:
    """The rows of some files in tables of so many rows, also across files; each with a text that orders them."""
    batches: list[pa.Table] = []
    count, number = 0, 0
    for path in paths:
        with FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED) as stream:
            file = pq.ParquetFile(stream)
            wanted = None if columns is None else [name for name in columns if name in file.schema_arrow.names]
            for batch in file.iter_batches(min(rows, _BATCH_ROWS), columns=wanted):
                batches.append(conform_table(pa.Table.from_batches([batch]), table, columns))
                count += batch.num_rows
                if count >= rows:
                    yield f"{paths[0]}#{number:06d}", pa.concat_tables(batches).combine_chunks()
                    batches, count, number = [], 0, number + 1
    if batches:
        yield f"{paths[0]}#{number:06d}", pa.concat_tables(batches).combine_chunks()


def pack_table(kind: str, order: str, table: pa.Table) -> bytes:
    """A table with its kind and its place among others, as Arrow IPC."""
    metadata = {**(table.schema.metadata or {}), _KIND: kind.encode(), _ORDER: order.encode()}
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema.with_metadata(metadata)) as writer:
        writer.write_table(table)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def unpack_tables(packed: Iterable[bytes]) -> dict[str, list[pa.Table]]:
    """The tables of each kind, in their order, however they arrived."""
    tables = []
    for content in packed:
        table = pa.ipc.open_stream(content).read_all()
        metadata = dict(table.schema.metadata)
        kind, order = metadata.pop(_KIND).decode(), metadata.pop(_ORDER).decode()
        tables.append((kind, order, table.replace_schema_metadata(metadata or None)))
    by_kind: dict[str, list[pa.Table]] = {}
    for kind, _, table in sorted(tables, key=lambda entry: entry[:2]):
        by_kind.setdefault(kind, []).append(table)
    return by_kind


def read_whole(pattern: str) -> list[pa.Table]:
    """A table for each file that matches, in the order of their names."""
    tables = []
    for entry in sorted(FileSystems.match([pattern])[0].metadata_list, key=lambda entry: entry.path):
        with FileSystems.open(entry.path, compression_type=CompressionTypes.UNCOMPRESSED) as stream:
            tables.append(pq.read_table(pa.PythonFile(stream)))
    return tables


def write_table(path: str, table: pa.Table) -> None:
    """Write a Parquet file that is whole once it has its name."""
    draft = _draft_of(path)
    with FileSystems.create(draft, compression_type=CompressionTypes.UNCOMPRESSED) as stream:
        pq.write_table(table, pa.PythonFile(stream, mode="w"), compression="zstd", row_group_size=250_000)
    _give_name(draft, path)


def write_json(path: str, value: object) -> None:
    """Write a JSON file that is whole once it has its name."""
    draft = _draft_of(path)
    with FileSystems.create(draft, compression_type=CompressionTypes.UNCOMPRESSED) as stream:
        stream.write(json.dumps(value, sort_keys=True, default=str).encode())
    _give_name(draft, path)


def read_json(pattern: str) -> dict[str, dict[str, object]]:
    """The JSON files that match, by path."""
    documents = {}
    for entry in FileSystems.match([pattern])[0].metadata_list:
        with FileSystems.open(entry.path, compression_type=CompressionTypes.UNCOMPRESSED) as stream:
            documents[entry.path] = json.loads(stream.read())
    return documents


def remove_files(paths: Sequence[str]) -> None:
    """Remove the files among these that exist."""
    existing = [path for path in paths if FileSystems.exists(path)]
    if existing:
        FileSystems.delete(existing)


def _draft_of(path: str) -> str:
    """A name of its own: a runner may compute the same shard twice at the same time."""
    return f"{path}.{uuid.uuid4().hex}.draft"


def _give_name(draft: str, path: str) -> None:
    remove_files([path])
    FileSystems.rename([draft], [path])
