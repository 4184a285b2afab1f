"""The store on this machine: Parquet files by table and day, written commit by commit, and DuckDB to query them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, timedelta
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from gaelp.config.write import write_texts
from gaelp.errors import BadInput, DataError, GaelpError
from gaelp.storage.commit_folder import CommitFolder, Staged
from gaelp.storage.duckdb_query import ParquetQueries
from gaelp.storage.filter_sql import filter_conditions
from gaelp.storage.migrations import MIGRATIONS, Migration
from gaelp.storage.parquet_files import by_day, write_rows
from gaelp.storage.row_check import check_batch
from gaelp.storage.schema import TABLES, TableName
from gaelp.storage.store import Appended, RowFilter, StoredPart, check_columns, check_hold
from gaelp.types import Phase

__all__ = ["DuckDbStore"]

_MERGE_COMMITS = 64  # so many small commits are merged into one: a scan opens every file
_SMALL_BYTES = 16 * 2**20


class DuckDbStore:
    """Keeps episode data in a folder; several processes may write and read it at the same time."""

    def __init__(self, folder: Path, migrations: Mapping[int, Migration] = MIGRATIONS) -> None:
        self._folder = CommitFolder(folder)
        self._queries = ParquetQueries(migrations)

    def append(self, batch: Mapping[TableName, pa.Table]) -> Appended:
        """Store all rows of all tables, or none; rows whose id is stored already are skipped.

        The files are written before the commit lock is taken, which therefore lasts as long as the search for ids.
        Only days with new rows are searched: an id belongs to one `at`.
        """
        given = sum(table.num_rows for table in batch.values())
        checked = check_batch(batch, self._queries.may_repeat)
        if not checked:
            return Appended(0, 0)
        with self._folder.staged() as staged:
            days = {name: self._write(staged, name, table) for name, table in checked.items()}
            with self._folder.committing():
                for name, table in checked.items():
                    new = self._new_rows(name, table, days[name])
                    if new.num_rows < table.num_rows:
                        for day in days[name]:
                            staged.file(name, day).unlink()
                        self._write(staged, name, new)
                        checked[name] = new
                stored = sum(table.num_rows for table in checked.values())
                if stored:
                    self._folder.commit(staged)
        if stored:
            self._merge_small_commits()
        return Appended(stored, given - stored)

    def _write(self, staged: Staged, name: TableName, table: pa.Table) -> list[date]:
        days = []
        for day, rows in by_day(table) if table.num_rows else ():
            write_rows(staged.file(name, day), name, [rows])
            days.append(day)
        return days

    def _new_rows(self, name: TableName, table: pa.Table, days: Sequence[date]) -> pa.Table:
        files = self._folder.files(name, (days[0], days[-1]))
        ids = table.column("id")
        stored = self._queries.stored_ids(list(chain(*(files.get(day, ()) for day in days))), ids)
        return table.filter(pc.invert(pc.is_in(ids, stored))) if len(stored) else table

    def scan(
        self, table: TableName, rows: RowFilter | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[pa.Table]:
        """Yield the matching rows in tables of at most SCAN_ROWS rows, ordered by day; memory stays bounded."""
        wanted = check_columns(table, columns)
        rows = rows or RowFilter()
        conditions, values = filter_conditions(
            rows, time='"{column}" {sign} ${name}', among='"{column}" = ANY(${name})'
        )
        where = " AND ".join(conditions) or "true"
        parameters = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
        return self._scanned(table, rows, wanted, where, parameters)

    def _scanned(
        self, table: TableName, rows: RowFilter, columns: Sequence[str], where: str, values: Mapping[str, object]
    ) -> Iterator[pa.Table]:
        window = (
            date.min if rows.since is None else rows.since.astimezone(UTC).date(),
            date.max if rows.until is None else rows.until.astimezone(UTC).date(),
        )
        for day in self._folder.files(table, window):
            with self._folder.reading():
                files = self._folder.files(table, (day, day)).get(day, ())
                yield from self._queries.select(table, files, columns, where, values)

    def describe(self) -> Sequence[StoredPart]:
        """Return what is stored, sorted by table, phase, source and day."""
        rows: dict[tuple[TableName, Phase, str, date], tuple[int, int]] = {}
        with self._folder.reading():
            for name in TableName:
                for day, path in _pairs(self._folder.files(name)):
                    self._queries.version(path)
                    counts = self._queries.count_by_source(path)
                    per_row = path.stat().st_size / sum(count for _, _, count in counts)
                    for phase, source, count in counts:
                        key = (name, Phase(phase), source, day)
                        before = rows.get(key, (0, 0))
                        rows[key] = (before[0] + count, before[1] + round(count * per_row))
        order = list(TableName), list(Phase)
        parts = [StoredPart(*key, *figures) for key, figures in rows.items()]
        return sorted(parts, key=lambda part: (order[0].index(part.table), order[1].index(part.phase), *part[2:4]))

    def hold(self, source: str, reason: str) -> None:
        """Put a legal hold on what a run or import wrote, also on what it writes later."""
        check_hold(source, reason)
        with self._folder.committing():
            self._write_holds({**self.holds(), source: reason})

    def release_hold(self, source: str) -> None:
        """End a legal hold."""
        with self._folder.committing():
            holds = dict(self.holds())
            if source not in holds:
                raise BadInput(f"there is no hold on {source!r}; holds: {', '.join(sorted(holds)) or 'none'}")
            del holds[source]
            self._write_holds(holds)

    def holds(self) -> Mapping[str, str]:
        """Return the reason of each legal hold, by source."""
        path = self._folder.folder / "holds.json"
        try:
            return dict(json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return {}
        except ValueError as problem:
            raise DataError(
                f"{path} does not say which sources are on hold ({problem}): nothing is deleted until it is restored"
            ) from problem

    def _write_holds(self, holds: Mapping[str, str]) -> None:
        write_texts({self._folder.folder / "holds.json": json.dumps(holds, indent=2, sort_keys=True) + "\n"})

    def remove_before(self, day: date, tables: Sequence[TableName], phases: Sequence[Phase] = tuple(Phase)) -> int:
        """Delete old rows of these tables and phases, except those under a legal hold; return how many."""
        with self._folder.deleting():
            self._folder.delete_replaced()
            held = list(self.holds())
            last = day - timedelta(days=1)
            removed = sum(
                self._remove(name, path_day, path, held, phases)
                for name in tables
                for path_day, path in _pairs(self._folder.files(name, (date.min, last)))
            )
            self._folder.delete_empty()
        return removed

    def _remove(self, name: TableName, day: date, path: Path, held: Sequence[str], phases: Sequence[Phase]) -> int:
        counts = self._queries.count_by_source(path)
        kept = sum(count for phase, source, count in counts if source in held or phase not in phases)
        gone = sum(count for _, _, count in counts) - kept
        if gone and kept:
            where = "source = ANY($held) OR NOT phase = ANY($phases)"
            values = {"held": held, "phases": [str(phase) for phase in phases]}
            rows = self._queries.select(name, [path], TABLES[name].columns.names, where, values)
            with self._folder.staged() as staged:
                draft = staged.file(name, day)
                write_rows(draft, name, rows)
                draft.replace(path)
        elif gone:
            path.unlink()
        return gone

    def _merge_small_commits(self) -> None:
        """Merge small commits into one once there are many; a reader at work postpones only the deletion."""
        if len(self._small_commits()) < _MERGE_COMMITS:
            return
        with self._folder.committing():
            small = self._small_commits()
            if len(small) < _MERGE_COMMITS:
                return  # another process was first
            with self._folder.staged() as staged:
                for name in TableName:
                    for day, paths in self._folder.files(name, names=small).items():
                        write_rows(
                            staged.file(name, day), name, chain(*(self._queries.read(name, path) for path in paths))
                        )
                self._folder.commit(staged, replaces=small)
        with suppress(GaelpError), self._folder.deleting(wait_seconds=0.0):
            self._folder.delete_replaced()

    def _small_commits(self) -> list[str]:
        fresh = [name for name in self._folder.names() if not self._folder.is_merged(name)]
        if len(fresh) < _MERGE_COMMITS:
            return []
        return [name for name in fresh if self._folder.size_bytes(name) < _SMALL_BYTES]

    def close(self) -> None:
        """Close DuckDB."""
        self._queries.close()


def _pairs(files: Mapping[date, Sequence[Path]]) -> list[tuple[date, Path]]:
    return [(day, path) for day, paths in files.items() for path in paths]
