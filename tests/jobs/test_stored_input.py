"""Jobs get their input from the folder of a store, or from the matching rows of any store."""

from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq

from gaelp.jobs.stored_input import export_tables, table_pattern
from gaelp.storage.schema import TABLES, TableName
from gaelp.storage.store import RowFilter


class TwoTables:
    """A store whose scan yields two tables of clicks and nothing else."""

    def __init__(self):
        self.asked = []

    def scan(self, table, rows=None, columns=None):
        self.asked.append((table, rows))
        row = {"at": datetime(2026, 1, 1, tzinfo=UTC), "phase": "pilot", "source": "s", "campaign": "c"}
        if table is TableName.CLICKS:
            for name in ("a", "b"):
                yield pa.Table.from_pylist([{**row, "id": name, "cost_micros": 1}], schema=TABLES[table].columns)


def test_matching_rows_are_written_and_what_was_there_before_is_replaced(tmp_path):
    (tmp_path / "clicks").mkdir()
    (tmp_path / "clicks/part-000007.parquet").write_bytes(b"old")
    store, rows = TwoTables(), RowFilter(sources=("run-1",))
    written = export_tables(store, tmp_path, [TableName.CLICKS, TableName.CONVERSIONS], rows)
    assert written == {TableName.CLICKS: 2, TableName.CONVERSIONS: 0}
    assert store.asked == [(TableName.CLICKS, rows), (TableName.CONVERSIONS, rows)]
    paths = sorted((tmp_path / "clicks").iterdir())
    assert [pq.read_table(path)["id"].to_pylist() for path in paths] == [["a"], ["b"]]


def test_a_table_without_files_has_no_pattern(tmp_path):
    assert table_pattern(tmp_path, TableName.CLICKS) is None
    (tmp_path / "clicks/day=2026-01-01").mkdir(parents=True)
    (tmp_path / "clicks/day=2026-01-01/a.parquet").touch()
    assert table_pattern(tmp_path, TableName.CLICKS) == f"{tmp_path}/clicks/**.parquet"


def test_the_folder_of_a_parquet_store_is_known(tmp_path):
    (tmp_path / "commits/1-a/clicks").mkdir(parents=True)
    assert table_pattern(tmp_path, TableName.CLICKS) is None
    (tmp_path / "commits/1-a/clicks/day=2026-01-01.parquet").touch()
    assert table_pattern(tmp_path, TableName.CLICKS) == f"{tmp_path}/commits/*/clicks/*.parquet"
