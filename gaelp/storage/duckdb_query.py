"""SQL over the Parquet files of a store, also over files that an earlier release wrote."""

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from gaelp.errors import DataError
from gaelp.storage.migrations import MIGRATIONS, Migration, check_version, migrated
from gaelp.storage.parquet_files import file_version, may_have_ids, read_batches
from gaelp.storage.schema import SCHEMA_VERSION, TABLES, TableName
from gaelp.storage.store import SCAN_ROWS

__all__ = ["ParquetQueries"]

_OPTIONS: dict[str, str | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "memory_limit": "2GB",
    "threads": 2,
}


class ParquetQueries:
    """Runs queries in DuckDB; usable from several threads."""

    def __init__(self, migrations: Mapping[int, Migration] = MIGRATIONS) -> None:
        spill = str(Path(tempfile.gettempdir()) / "gaelp-duckdb")  # not the current folder, which is DuckDB's default
        self._connection = duckdb.connect(config={**_OPTIONS, "temp_directory": spill})
        self._connection.execute("SET TimeZone = 'UTC'")
        self._migrations = migrations
        self._versions: dict[tuple[str, int, int], int] = {}

    def select(
        self,
        name: TableName,
        files: Sequence[Path],
        columns: Sequence[str],
        where: str = "true",
        values: Mapping[str, Any] | None = None,
    ) -> Iterator[pa.Table]:
        """Yield the rows of the files that meet a condition, in tables of at most SCAN_ROWS rows."""
        listed = ", ".join(f'"{column}"' for column in columns)
        schema = pa.schema([TABLES[name].columns.field(column) for column in columns], TABLES[name].columns.metadata)
        current = [path for path in files if self.version(path) == SCHEMA_VERSION]
        with self._cursor() as cursor:
            if current:
                query = f"SELECT {listed} FROM {_parquet(current)} WHERE {where}"  # noqa: S608 - our own names
                yield from _batches(cursor.execute(query, values or {}), schema)
            for path in files:
                if path not in current:
                    for table in self.read(name, path):
                        cursor.register("earlier", table)
                        query = f"SELECT {listed} FROM earlier WHERE {where}"  # noqa: S608
                        yield from _batches(cursor.execute(query, values or {}), schema)

    def read(self, name: TableName, path: Path) -> Iterator[pa.Table]:
        """Yield all rows of a file, brought to this release's schema."""
        version = self.version(path)
        for table in read_batches(path):
            yield migrated(name, table, version, self._migrations)

    def stored_ids(self, files: Sequence[Path], ids: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return those of the ids that the files have; `id` means the same in every schema version."""
        bounds = pc.min_max(ids).as_py()
        searched = [path for path in files if may_have_ids(path, bounds["min"], bounds["max"])]
        if not searched:
            return ids.slice(0, 0)
        with self._cursor() as cursor:
            cursor.register("new", pa.table({"id": ids}))
            query = f"SELECT id FROM new SEMI JOIN {_parquet(searched)} AS stored USING (id)"  # noqa: S608
            return cursor.execute(query).to_arrow_table().column("id")

    def may_repeat(self, ids: pa.ChunkedArray) -> bool:
        """Return whether an id may occur twice, judged by hashes: False is certain, True may be a collision."""
        with self._cursor() as cursor:
            cursor.register("new", pa.table({"id": ids}))
            [(distinct,)] = cursor.execute("SELECT count(DISTINCT hash(id)) FROM new").fetchall()
        return int(distinct) < len(ids)

    def count_by_source(self, path: Path) -> list[tuple[str, str, int]]:
        """Return phase, source and how many rows of a file they have."""
        with self._cursor() as cursor:
            query = f"SELECT phase, source, count(*) FROM {_parquet([path])} GROUP BY 1, 2"  # noqa: S608
            return cursor.execute(query).fetchall()

    def version(self, path: Path) -> int:
        """Return the schema version of a file; DataError if this release cannot read it."""
        try:
            status = path.stat()
        except OSError as problem:
            raise DataError(f"{path} cannot be read: {problem.strerror}") from problem
        key = (str(path), status.st_ino, status.st_mtime_ns)
        if key not in self._versions:
            version = file_version(path)
            check_version(version, str(path), self._migrations)
            self._versions[key] = version
        return self._versions[key]

    def close(self) -> None:
        """Close DuckDB."""
        self._connection.close()

    @contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        with closing(self._connection.cursor()) as cursor:
            cursor.execute("SET TimeZone = 'UTC'")
            try:
                yield cursor
            except duckdb.Error as problem:
                raise DataError(f"the stored files cannot be read: {problem}") from problem


def _parquet(files: Sequence[Path]) -> str:
    """A list of files as SQL; DuckDB takes names for patterns, so their special characters are escaped."""
    quoted = (re.sub(r"([\[*?])", r"[\1]", str(path)).replace("'", "''") for path in files)
    return "read_parquet([" + ", ".join(f"'{name}'" for name in quoted) + "])"


def _batches(result: duckdb.DuckDBPyConnection, schema: pa.Schema) -> Iterator[pa.Table]:
    for batch in result.to_arrow_reader(SCAN_ROWS):
        for first in range(0, batch.num_rows, SCAN_ROWS):
            yield pa.table(batch.slice(first, SCAN_ROWS)).cast(schema)
