"""The store on this machine, beyond what every store promises."""

from contextlib import closing
from datetime import date
from functools import partial

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gaelp.errors import DataError
from gaelp.storage import duckdb_store
from gaelp.storage.conformance import StoreConformance
from gaelp.storage.conformance_rows import FIRST_HOUR, episode_batch, rows_of
from gaelp.storage.duckdb_store import DuckDbStore
from gaelp.storage.migrations import MIGRATIONS
from gaelp.storage.schema import SCHEMA_VERSION, TABLES, TableName
from gaelp.storage.store import SCAN_ROWS, Appended


class TestDuckDb(StoreConformance):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path):
        self.folder = tmp_path / "it's [odd] * and ?" / "episodes"

    def fresh(self):
        return partial(DuckDbStore, self.folder)


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr(duckdb_store, "_MERGE_COMMITS", 8)
    with closing(DuckDbStore(tmp_path)) as opened:
        yield opened


def ids(store, table=TableName.DECISIONS):
    return sorted(value for rows in store.scan(table, columns=["id"]) for value in rows.column("id").to_pylist())


def test_the_files_can_be_queried_with_duckdb_in_one_line(store, tmp_path):
    store.append(episode_batch(2))
    query = f"SELECT count(*) FROM '{tmp_path}/commits/*/decisions/*.parquet'"  # noqa: S608 - a path of this test
    [(rows,)] = duckdb.sql(query).fetchall()
    assert rows == 8


def test_many_small_appends_are_merged_and_nothing_is_lost(store, tmp_path):
    batches = [episode_batch(1, first=number) for number in range(11)]
    for batch in batches:
        store.append(batch)
    assert len(list((tmp_path / "commits").iterdir())) < 8
    assert ids(store) == sorted(value for batch in batches for value in batch[TableName.DECISIONS]["id"].to_pylist())
    assert store.append(batches[0]) == Appended(0, 5)


def test_a_merge_that_was_killed_before_its_last_step_shows_no_row_twice(store, tmp_path, monkeypatch):
    monkeypatch.setattr(store._folder, "delete_replaced", lambda: None)
    for number in range(8):
        store.append(episode_batch(1, first=number))
    assert len(list((tmp_path / "commits").iterdir())) == 9
    assert len(ids(store)) == len(set(ids(store))) == 8 * 4
    monkeypatch.undo()
    store.remove_before(date(2026, 1, 1), [TableName.DECISIONS])
    assert len(list((tmp_path / "commits").iterdir())) == 1
    assert len(ids(store)) == 8 * 4


def test_a_reader_at_work_does_not_lose_files_to_a_merge(store):
    for number in range(7):
        store.append(episode_batch(1, first=number))
    reading = store.scan(TableName.DECISIONS)
    first = next(reading)
    store.append(episode_batch(1, first=7))
    assert first.num_rows + sum(table.num_rows for table in reading) >= 7 * 4


def test_what_a_dead_writer_left_is_deleted(store, tmp_path):
    left = tmp_path / "staging" / "dead"
    (left / "decisions").mkdir(parents=True)
    (left / "decisions" / "day=2026-03-01.parquet").write_bytes(b"half")
    left.with_suffix(".lock").touch()
    store.append(episode_batch(1))
    assert list((tmp_path / "staging").iterdir()) == []


def test_an_append_that_fails_leaves_nothing(store, tmp_path, monkeypatch):
    monkeypatch.setattr(store._folder, "commit", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        store.append(episode_batch(1))
    assert list((tmp_path / "staging").iterdir()) == []
    assert store.describe() == []


def test_scanned_tables_are_never_too_large(store):
    rows = SCAN_ROWS + 1000
    table = pa.table({"id": [str(number) for number in range(rows)], "cost_micros": pa.array(range(rows), pa.int64())})
    for column, value in {"phase": "pilot", "source": "s", "campaign": "c"}.items():
        table = table.append_column(column, pa.array([value] * rows))
    table = table.append_column("at", pa.array([FIRST_HOUR] * rows, pa.timestamp("us", tz="UTC")))
    store.append({TableName.CLICKS: table})
    sizes = [part.num_rows for part in store.scan(TableName.CLICKS)]
    assert sum(sizes) == rows
    assert max(sizes) <= SCAN_ROWS


def test_a_damaged_file_is_named(store, tmp_path):
    store.append(episode_batch(1))
    [path] = (tmp_path / "commits").glob("*/decisions/day=2026-03-01.parquet")
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(DataError, match=r"day=2026-03-01\.parquet is damaged"):
        list(DuckDbStore(tmp_path).scan(TableName.DECISIONS))


def test_unreadable_holds_delete_nothing(store, tmp_path):
    store.append(episode_batch(1))
    (tmp_path / "holds.json").write_text("{")
    with pytest.raises(DataError, match="nothing is deleted"):
        store.remove_before(date(2027, 1, 1), list(TableName))
    assert len(ids(store)) == 4


# Schema versions


def as_version(tmp_path, version, change=lambda table: table):
    """Rewrite the stored decisions as another release would have written them."""
    for path in (tmp_path / "commits").glob("*/decisions/*.parquet"):
        table = change(pq.read_table(path, partitioning=None))
        pq.write_table(table.replace_schema_metadata({"table": "decisions", "schema_version": str(version)}), path)


def in_whole_units(table):
    """Version 0, which never existed, had bids in whole units and called segments groups."""
    table = table.rename_columns(["group" if name == "segment" else name for name in table.column_names])
    place = table.column_names.index("bid_micros")
    return table.set_column(place, "bid", pa.array([micros // 10**6 for micros in table["bid_micros"].to_pylist()]))


def to_micros(name, table):
    if name is TableName.DECISIONS:
        table = table.rename_columns(["segment" if column == "group" else column for column in table.column_names])
        place = table.column_names.index("bid")
        table = table.set_column(place, "bid_micros", pa.array([bid * 10**6 for bid in table["bid"].to_pylist()]))
    return table


def bid_of(number):
    return {
        "id": str(number),
        "episode": "e",
        "step": number,
        "segment": "a",
        "bid_micros": number * 10**6,
        "campaign": f"c{number}",
    }


def test_rows_of_an_earlier_version_are_migrated_when_they_are_read(store, tmp_path):
    store.append({TableName.DECISIONS: rows_of(TableName.DECISIONS, *(bid_of(number) for number in range(4)))})
    as_version(tmp_path, 0, in_whole_units)
    with closing(DuckDbStore(tmp_path, migrations={0: to_micros, **MIGRATIONS})) as opened:
        opened.append({TableName.DECISIONS: rows_of(TableName.DECISIONS, bid_of(4), bid_of(0))})
        rows = pa.concat_tables(opened.scan(TableName.DECISIONS))
        assert rows.schema.equals(TABLES[TableName.DECISIONS].columns)
        assert sorted(rows["bid_micros"].to_pylist()) == [number * 10**6 for number in range(5)]


def test_a_file_of_a_newer_version_is_refused(store, tmp_path):
    store.append(episode_batch(1))
    as_version(tmp_path, SCHEMA_VERSION + 1)
    for call in (lambda: list(store.scan(TableName.DECISIONS)), store.describe):
        with pytest.raises(
            DataError, match=r"schema version \d, this gaelp reads up to \d: use the gaelp that wrote it"
        ):
            call()


def test_rows_of_version_1_are_read_as_they_are(store, tmp_path):
    store.append(episode_batch(1))
    before = pa.concat_tables(store.scan(TableName.DECISIONS))
    as_version(tmp_path, 1)
    assert pa.concat_tables(store.scan(TableName.DECISIONS)).equals(before)
