from datetime import UTC, datetime

import pandas as pd
import pyarrow as pa
import pytest

from gaelp.quality.suite import load_suite
from gaelp.quality.window_check import check_frame, check_window
from gaelp.storage.schema import TABLES, TableName
from gaelp.storage.store import RowFilter
from tests.importing.memory_store import MemoryStore

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SUITE = load_suite(TableName.DECISIONS)


def check(frame, **options):
    return check_frame(frame, SUITE, now=NOW, **options)[0]


def test_good_rows_keep_every_expectation_and_the_page_shows_them(decisions):
    result, page = check_frame(decisions, SUITE, now=NOW)
    assert result.failed == ()
    assert result.metrics == {"checked_rows": 24.0, "failed_expectations": 0.0}
    assert "<html" in page
    assert result.skipped == ("expect_column_quantile_values_to_be_between of bid_micros: no reference",)


@pytest.mark.parametrize(
    ("column", "value", "failing"),
    [
        ("bid_micros", -1, "bid_micros"),
        ("spend_micros", 10_001.0, "spend_over_bid_micros"),
        ("clicks", 11.0, "impressions"),
        ("phase", "launch", "phase"),
        ("at", pd.Timestamp("2020-01-01", tz="UTC"), "seconds_since_last_step"),
        ("density", -0.5, "density"),
    ],
)
def test_a_planted_bad_row_fails_its_expectation_alone_and_is_named(decisions, column, value, failing):
    decisions[column] = decisions[column].astype(object) if column in {"phase", "density"} else decisions[column]
    decisions.loc[5, column] = value
    failed = [each for each in check(decisions).failed if failing in each.columns]
    assert [each.failing_rows for each in failed] == [1]
    assert failed[0].sample[0].id == "d5"
    assert set(failed[0].sample[0].values) == set(failed[0].columns)


def test_a_repeated_decision_fails_uniqueness(decisions):
    decisions.loc[5, "step"] = 4
    assert "expect_compound_columns_to_be_unique" in [each.expectation for each in check(decisions).failed]


def test_a_window_in_another_unit_than_the_reference_fails(decisions):
    wrong = decisions.assign(bid_micros=decisions["bid_micros"] * 1_000_000, spend_micros=0.0)
    [failed] = check(wrong, reference=decisions).failed
    assert failed.columns == ("bid_micros",)
    assert check(decisions, reference=decisions).failed == ()


def test_a_window_without_rows_fails_because_it_proves_nothing(decisions):
    [failed] = check(decisions.iloc[:0]).failed
    assert failed.expectation == "expect_table_row_count_to_be_between"


def test_the_rows_come_from_the_store(decisions):
    store = MemoryStore()
    rows = [{**row, "at": row["at"].to_pydatetime()} for row in decisions.to_dict("records")]
    store.append({TableName.DECISIONS: pa.Table.from_pylist(rows, TABLES[TableName.DECISIONS].columns)})
    result, _ = check_window(store, SUITE, RowFilter(), now=NOW, reference=RowFilter())
    assert (result.rows, result.failed, result.skipped) == (24, (), ())
