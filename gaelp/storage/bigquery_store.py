"""The store in BigQuery: rows are staged by streams or load jobs, and one transaction commits all tables."""

import os
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from gaelp.errors import BadInput
from gaelp.storage.bigquery_client import (
    CALL_SECONDS,
    JOB_SECONDS,
    BigQueryPlace,
    BigQueryQueries,
    QueryValue,
    translated,
    write_client,
)
from gaelp.storage.bigquery_staging import LOAD_ROWS, load_rows, stream_rows
from gaelp.storage.bigquery_tables import APPEND, HOLDS, create_tables, staging_name
from gaelp.storage.file_lock import file_locked
from gaelp.storage.filter_sql import filter_conditions
from gaelp.storage.row_check import check_batch
from gaelp.storage.schema import TABLES, TableName
from gaelp.storage.store import Appended, RowFilter, StoredPart, check_columns, check_hold
from gaelp.types import Phase

__all__ = ["BigQueryStore"]

_TIME, _AMONG = "`{column}` {sign} @{name}", "`{column}` IN UNNEST(@{name})"


class BigQueryStore:
    """Keeps episode data in a dataset; processes on several machines may write and read it at the same time."""

    def __init__(self, place: BigQueryPlace) -> None:
        self._place = place
        self._queries = BigQueryQueries(place)
        self._writer = write_client(place)
        create_tables(self._queries)

    def append(self, batch: Mapping[TableName, pa.Table]) -> Appended:
        """Store all rows of all tables, or none; rows whose id is stored already are skipped.

        Staged rows that are never committed, for example those of a writer that died, expire after two days.
        """
        given = sum(table.num_rows for table in batch.values())
        checked = check_batch(batch)
        if not checked:
            return Appended(0, 0)
        with self._one_at_a_time() if self._place.emulator_rest else nullcontext():  # which mixes up concurrent calls
            stored = self._stage_and_commit(checked)
        return Appended(stored, given - stored)

    def _stage_and_commit(self, tables: Mapping[TableName, pa.Table]) -> int:
        append = uuid.uuid4().hex
        for name, table in tables.items():
            rows = table.append_column(APPEND, pa.array([append] * table.num_rows))
            if table.num_rows >= LOAD_ROWS:
                load_rows(self._queries, staging_name(name), rows)
            else:
                stream_rows(self._writer, self._queries, staging_name(name), rows)
        merges = [self._merge(name, table, append) for name, table in tables.items()]
        for merge, _ in merges:
            self._queries.check_cost(merge)
        with nullcontext() if self._place.emulator_rest else self._one_at_a_time():
            [(stored,)] = self._queries.run_script(_commit_script(merges))
        return int(stored)

    def _one_at_a_time(self) -> AbstractContextManager[None]:
        """Let the writers of this machine queue: BigQuery aborts transactions that change a table at the same time."""
        place = self._place
        lock = f"gaelp-{os.getuid()}-{place.project}.{place.dataset}.lock"
        return file_locked(Path(tempfile.gettempdir()) / lock, wait_seconds=JOB_SECONDS)

    def _merge(self, name: TableName, table: pa.Table, append: str) -> tuple[str, str]:
        """The statement that stores the rows that are new, and the query that counts them afterwards.

        Values are written into the text, because not every server takes parameters in a transaction; they are a random
        number and times, never what a user gave.
        """
        bounds = pc.min_max(table.column("at")).as_py()
        first, after = _midnight(bounds["min"].date()), _midnight(bounds["max"].date() + timedelta(days=1))
        window = f"`at` >= {_literal(first)} AND {{}}`at` < {_literal(after)}"  # so that only these days are read
        staging = self._place.table(staging_name(name))
        columns = [f"`{column}`" for column in (*TABLES[name].columns.names, APPEND)]
        listed = ", ".join(columns)
        merge = (
            f"MERGE {self._place.table(name)} AS stored"  # noqa: S608 - see above
            f" USING (SELECT {listed} FROM {staging} WHERE {APPEND} = '{append}') AS staged"
            f" ON stored.`id` = staged.`id` AND stored.{window.format('stored.')}"
            f" WHEN NOT MATCHED THEN INSERT ({listed}) VALUES ({', '.join('staged.' + column for column in columns)})"
        )
        count = (
            f"(SELECT COUNT(*) FROM {self._place.table(name)}"  # noqa: S608
            f" WHERE {APPEND} = '{append}' AND {window.format('')})"
        )
        return merge, count

    def scan(
        self, table: TableName, rows: RowFilter | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[pa.Table]:
        """Yield the matching rows in tables of at most SCAN_ROWS rows, ordered by day; memory stays bounded.

        The cost of the whole scan is checked first; then each day is a query of its own, which needs no sorting.
        """
        wanted = check_columns(table, columns)
        conditions, values = filter_conditions(rows or RowFilter(), time=_TIME, among=_AMONG)
        return self._scanned(table, wanted, " AND ".join([*conditions, "TRUE"]), values)

    def _scanned(
        self, table: TableName, columns: Sequence[str], where: str, values: Mapping[str, QueryValue]
    ) -> Iterator[pa.Table]:
        schema = pa.schema([TABLES[table].columns.field(column) for column in columns], TABLES[table].columns.metadata)
        place = self._place.table(table)
        query = f"SELECT {', '.join(f'`{column}`' for column in columns)} FROM {place} WHERE {where}"  # noqa: S608
        self._queries.check_cost(query, values)
        days, _ = self._queries.run(
            f"SELECT DISTINCT DATE(`at`) AS day FROM {place} WHERE {where} ORDER BY day",  # noqa: S608
            values,
        )
        for (day,) in days:
            start = _midnight(day)
            window = {"day_start": start, "day_end": start + timedelta(days=1)}
            of_day = f"{query} AND `at` >= @day_start AND `at` < @day_end"
            yield from self._queries.tables(of_day, {**values, **window}, schema)

    def describe(self) -> Sequence[StoredPart]:
        """Return what is stored, sorted by table, phase, source and day; bytes are the table's, shared out by rows."""
        parts = []
        for name in TableName:
            rows, _ = self._queries.run(
                "SELECT `phase`, `source`, DATE(`at`) AS day, COUNT(*) AS row_count"  # noqa: S608
                f" FROM {self._place.table(name)} GROUP BY `phase`, `source`, day ORDER BY `source`, day"
            )
            if not rows:
                continue
            with translated(self._place):
                table = self._queries.client.get_table(self._place.path(name), timeout=CALL_SECONDS)
            per_row = (table.num_bytes or 0) / max(table.num_rows or 1, 1)
            parts += [
                StoredPart(name, Phase(phase), source, day, count, round(count * per_row))
                for phase, source, day, count in sorted(rows, key=lambda row: (list(Phase).index(row[0]), *row[1:3]))
            ]
        return parts

    def hold(self, source: str, reason: str) -> None:
        """Put a legal hold on what a run or import wrote, also on what it writes later."""
        check_hold(source, reason)
        self._queries.run(
            f"MERGE {self._place.table(HOLDS)} AS held"  # noqa: S608
            " USING (SELECT @source AS source, @reason AS reason) AS given ON held.source = given.source"
            " WHEN MATCHED THEN UPDATE SET reason = given.reason"
            " WHEN NOT MATCHED THEN INSERT (source, reason) VALUES (given.source, given.reason)",
            {"source": source, "reason": reason},
        )

    def release_hold(self, source: str) -> None:
        """End a legal hold."""
        query = f"DELETE FROM {self._place.table(HOLDS)} WHERE source = @source"  # noqa: S608
        _, released = self._queries.run(query, {"source": source})
        if not released:
            raise BadInput(f"there is no hold on {source!r}; holds: {', '.join(sorted(self.holds())) or 'none'}")

    def holds(self) -> Mapping[str, str]:
        """Return the reason of each legal hold, by source."""
        rows, _ = self._queries.run(f"SELECT source, reason FROM {self._place.table(HOLDS)}")  # noqa: S608
        return {str(source): str(reason) for source, reason in rows}

    def remove_before(self, day: date, tables: Sequence[TableName], phases: Sequence[Phase] = tuple(Phase)) -> int:
        """Delete old rows of these tables and phases, except those under a legal hold; return how many."""
        return sum(
            self._queries.run(
                f"DELETE FROM {self._place.table(name)} WHERE `at` < @before AND `phase` IN UNNEST(@phases)"  # noqa: S608
                f" AND `source` NOT IN (SELECT source FROM {self._place.table(HOLDS)})",
                {"before": _midnight(day), "phases": [str(phase) for phase in phases]},
            )[1]
            for name in tables
        )

    def close(self) -> None:
        """Close the connections."""
        self._queries.close()
        self._writer.transport.close()


def _commit_script(merges: Sequence[tuple[str, str]]) -> str:
    statements = [f"{merge}; SET stored = stored + {count};" for merge, count in merges]
    return " ".join(
        [
            "DECLARE stored INT64 DEFAULT 0;",
            "BEGIN TRANSACTION;",
            *statements,
            "COMMIT TRANSACTION;",
            "SELECT stored;",
        ]
    )


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _literal(moment: datetime) -> str:
    return f"TIMESTAMP '{moment:%Y-%m-%d %H:%M:%S}+00'"
