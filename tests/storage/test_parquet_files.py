"""Rows are written by day, and text that is dictionary-encoded is read back as text."""

from datetime import date, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.storage.conformance_rows import FIRST_HOUR, rows_of
from gaelp.storage.duckdb_query import ParquetQueries
from gaelp.storage.parquet_files import by_day, may_have_ids, write_rows
from gaelp.storage.schema import TABLES, TableName


def clicks(hours, first=0):
    rows = [
        {"id": f"c{first + number}", "at": FIRST_HOUR + timedelta(hours=hour), "cost_micros": 1}
        for number, hour in enumerate(hours)
    ]
    return rows_of(TableName.CLICKS, *rows)


@given(st.lists(st.lists(st.integers(0, 90), max_size=6), min_size=1, max_size=4))
def test_every_row_is_in_its_day_and_rows_of_a_day_keep_their_order(chunks):
    starts = [sum(map(len, chunks[:number])) for number in range(len(chunks))]
    table = pa.concat_tables([clicks(hours, first) for hours, first in zip(chunks, starts, strict=True)])
    days = dict(by_day(table))
    assert list(days) == sorted(days)
    expected: dict[date, list[str]] = {}
    for row in table.to_pylist():
        expected.setdefault(row["at"].date(), []).append(row["id"])
    assert {day: rows["id"].to_pylist() for day, rows in days.items()} == expected


def test_dictionaries_that_differ_between_chunks_are_read_back_as_text(tmp_path):
    rows = [{"id": f"c{number}", "campaign": f"spring-{number % 3}", "cost_micros": 1} for number in range(6)]
    chunks = [rows_of(TableName.CLICKS, *part) for part in (rows[:3], rows[3:])]
    place = chunks[0].column_names.index("campaign")
    field = chunks[0].schema.field("campaign").with_type(pa.dictionary(pa.int32(), pa.string()))
    encoded = [table.set_column(place, field, table["campaign"].dictionary_encode()) for table in chunks]
    [(_, table)] = by_day(pa.concat_tables(encoded))
    write_rows(tmp_path / "clicks.parquet", TableName.CLICKS, [table])
    queries = ParquetQueries()
    columns = TABLES[TableName.CLICKS].columns
    scanned = pa.concat_tables(queries.select(TableName.CLICKS, [tmp_path / "clicks.parquet"], columns.names))
    read = pa.concat_tables(queries.read(TableName.CLICKS, tmp_path / "clicks.parquet"))
    assert scanned.schema.equals(columns)
    assert scanned.equals(pa.concat_tables(chunks).combine_chunks())
    assert read.equals(scanned)
    queries.close()


@pytest.mark.parametrize(
    ("lowest", "highest", "found"),
    [
        ("run-a/1", "run-a/9", True),
        ("run-0", "run-a/1", True),
        ("run-a/3", "run-z", True),
        ("a", "b", False),
        ("s", "t", False),
    ],
)
def test_only_files_whose_ids_may_be_meant_are_searched(tmp_path, lowest, highest, found):
    rows = [{"id": f"run-a/{number}", "cost_micros": 1} for number in range(1, 4)]
    write_rows(tmp_path / "clicks.parquet", TableName.CLICKS, [rows_of(TableName.CLICKS, *rows)])
    assert may_have_ids(tmp_path / "clicks.parquet", lowest, highest) is found


@pytest.mark.parametrize(("ids", "repeats"), [(["a", "b", "c"], False), (["a", "b", "a"], True), ([], False)])
def test_ids_that_occur_twice_are_noticed(ids, repeats):
    queries = ParquetQueries()
    assert (
        queries.may_repeat(pa.chunked_array([pa.array(ids[:2], pa.string()), pa.array(ids[2:], pa.string())]))
        is repeats
    )
    queries.close()


def test_the_earliest_and_the_latest_hour_of_a_day_share_a_file():
    midnight = datetime.combine(FIRST_HOUR.date(), datetime.min.time(), FIRST_HOUR.tzinfo)
    table = rows_of(
        TableName.CLICKS,
        {"id": "first", "at": midnight, "cost_micros": 1},
        {"id": "last", "at": midnight + timedelta(days=1, microseconds=-1), "cost_micros": 1},
        {"id": "next", "at": midnight + timedelta(days=1), "cost_micros": 1},
    )
    assert [(day.day, rows.num_rows) for day, rows in by_day(table)] == [(1, 2), (2, 1)]
