"""Rows are checked before they are stored."""

import pyarrow as pa
import pytest

from gaelp.errors import BadInput, DataError
from gaelp.storage import row_check
from gaelp.storage.conformance_rows import episode_batch, rows_of
from gaelp.storage.row_check import check_batch, check_rows
from gaelp.storage.schema import TABLES, TableName


def test_text_as_a_dictionary_is_accepted_and_stays_one():
    table = episode_batch(2)[TableName.DECISIONS]
    place = table.column_names.index("policy")
    given = table.set_column(place, "policy", table.column("policy").dictionary_encode())
    checked = check_rows(TableName.DECISIONS, given)
    assert checked.schema.field("policy").type == pa.dictionary(pa.int32(), pa.string())
    assert checked.cast(table.schema).equals(table)


def test_the_first_of_two_rows_with_one_id_is_kept():
    rows = [{"id": name, "cost_micros": cost} for name, cost in (("a", 1), ("b", 2), ("a", 3), ("c", 4))]
    [table] = check_batch({TableName.CLICKS: rows_of(TableName.CLICKS, *rows)}).values()
    assert table.column("cost_micros").to_pylist() == [1, 2, 4]


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("id", ["a", ""], r"row 1, column id: saw ''; expected text that is not empty, never null"),
        ("campaign", pa.array([5, 6]), "row 0, column campaign: saw 5; expected text, never null"),
        ("cost_micros", [1.0, 1.5], "row 1, column cost_micros: saw 1.5; expected a whole number"),
        ("cost_micros", pa.array([1, 2**63], pa.uint64()), "row 1, column cost_micros: saw 9223372036854775808"),
        ("at", pa.array([0, -(10**15)], pa.timestamp("us", tz="UTC")), "row 1, column at.*a time from 1970 to 2200"),
    ],
)
def test_a_value_that_does_not_fit_is_named(column, values, message):
    table = rows_of(TableName.CLICKS, {"id": "a", "cost_micros": 1}, {"id": "b", "cost_micros": 1})
    changed = table.set_column(table.column_names.index(column), column, pa.array(values))
    with pytest.raises(DataError, match=message):
        check_rows(TableName.CLICKS, changed)


def test_a_missing_column_that_may_not_be_null_is_named():
    table = rows_of(TableName.CLICKS, {"id": "a", "cost_micros": 1}).drop_columns(["cost_micros"])
    with pytest.raises(DataError, match="clicks, row 0, column cost_micros: saw 'no such column'"):
        check_rows(TableName.CLICKS, table)


def test_an_append_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(row_check, "APPEND_ROWS_MAX", 9)
    with pytest.raises(BadInput, match="10 rows in one append; at most 9 are allowed"):
        check_batch(episode_batch(2))


def test_tables_without_rows_are_left_out():
    assert check_batch({TableName.CLICKS: TABLES[TableName.CLICKS].columns.empty_table()}) == {}
