"""Invalid rows become dead letters with the first reason; of several revisions one is kept."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from gaelp.errors import DataError
from gaelp.jobs.screening import DEAD_LETTERS, conform_table, join_tables, keep_newest, keep_valid, not_finite
from gaelp.storage.schema import TableName


def test_each_row_is_kept_or_dead_with_its_first_reason():
    table = pa.table({"id": ["a", "b", "c"], "x": [1.0, float("nan"), -1.0]})
    problems = {"x is not finite": not_finite(table["x"]), "x is negative": pc.less(table["x"], 0)}
    screened = keep_valid(TableName.CLICKS, table, problems)
    assert screened.valid["id"].to_pylist() == ["a"]
    assert screened.dead.schema == DEAD_LETTERS
    assert screened.dead.select(["table", "id", "reason"]).to_pylist() == [
        {"table": "clicks", "id": "b", "reason": "x is not finite"},
        {"table": "clicks", "id": "c", "reason": "x is negative"},
    ]


def test_the_newest_revision_is_kept_also_where_a_key_is_null():
    table = pa.table({"hour": [1, 1, 2], "segment": [None, None, "a"], "revision": [0, 2, 0]})
    newest = keep_newest(table, ("hour", "segment"), [("revision", "descending")])
    assert newest["revision"].to_pylist() == [2, 0]
    assert keep_newest(table.slice(0, 0), ("hour",), ()).num_rows == 0


def test_a_column_that_does_not_fit_the_schema_is_named():
    with pytest.raises(DataError, match="the column cost_micros is string and cannot become int64"):
        conform_table(pa.table({"cost_micros": ["dear"]}), TableName.CLICKS, ["cost_micros"])
    with pytest.raises(DataError, match="the column cost_micros is missing"):
        conform_table(pa.table({"id": ["a"]}), TableName.CLICKS, ["cost_micros"])


def test_a_missing_optional_column_is_null():
    table = conform_table(pa.table({"id": ["a"]}), TableName.CLICKS, ["id", "segment"])
    assert table.to_pylist() == [{"id": "a", "segment": None}]
    assert join_tables([], table.schema).num_rows == 0
