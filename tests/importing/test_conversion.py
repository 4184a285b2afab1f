import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from gaelp.errors import DataError
from gaelp.importing.known_formats import AUCTION_COLUMNS
from gaelp.importing.row_source import frame_source
from gaelp.importing.times import fixed_offset
from gaelp.market.calibration.log_frame import UNKNOWN_PRICE
from gaelp.market.calibration.log_readers import bid_log

GOOD = {
    "time": ["2024-01-01T00:10:00", "2024-01-01T00:20:00", "2024-01-01T02:30:00"],
    "segment": ["b", "a", ""],
    "bid_micros": ["100", "200", "300"],
    "price_micros": ["80", "", "300"],
    "won": ["1", "0", "true"],
    "click": ["1", "", "0"],
    "conversion": ["1", "", ""],
    "conversion_time": ["2024-01-01T01:10:00", "", ""],
}


def log_from_table(table, *, source, first_line=1):
    frame = table.to_pandas() if isinstance(table, pa.Table) else table
    return bid_log(frame_source(frame, source, AUCTION_COLUMNS, first_line), zone=fixed_offset(0))


def table(**changes):
    return pd.DataFrame({**GOOD, **changes})


def fault(**changes):
    with pytest.raises(DataError) as caught:
        log_from_table(table(**changes), source="bids.csv", first_line=2)
    return str(caught.value)


def test_a_good_table_becomes_a_log_in_time_order():
    frame = table(time=GOOD["time"][::-1], conversion_time=["2024-01-01T03:00:00", "", ""])
    log = log_from_table(frame, source="bids.csv")
    assert log.bid_micros.tolist() == [300, 200, 100]
    assert log.price_micros.tolist() == [300, UNKNOWN_PRICE, 80]
    assert [log.segment_names[code] for code in log.segment] == ["(none)", "a", "b"]


def test_delays_run_from_the_auction_to_the_conversion():
    log = log_from_table(table(), source="bids.csv")
    assert log.delay_hours[0] == pytest.approx(1.0)
    assert np.isnan(log.delay_hours[1:]).all()


def test_an_arrow_table_reads_like_a_data_frame():
    frame = table()
    typed = pa.table({"time": pa.array([0, 600, 7200]).cast("int64"), "won": [True, False, True]})
    typed = typed.set_column(0, "time", pa.array([1704067200, 1704067800, 1704074400]))
    typed = typed.append_column("bid_micros", pa.array([100, 200, 300]))
    typed = typed.append_column("price_micros", pa.array([80, None, 300]))
    log = log_from_table(typed, source="bids.parquet")
    assert log.price_micros.tolist() == log_from_table(frame, source="bids.csv").price_micros.tolist()
    assert log.click is None
    assert log.segment_names == ("all",)


@pytest.mark.parametrize(
    ("changes", "seen"),
    [
        ({"time": ["soon", *GOOD["time"][1:]]}, "line 2, column time: saw 'soon'"),
        ({"time": ["", *GOOD["time"][1:]]}, "line 2, column time: saw empty"),
        ({"bid_micros": ["100", "1.5", "300"]}, "line 3, column bid_micros: saw '1.5'; allowed: a whole number"),
        ({"bid_micros": ["100", "-2", "300"]}, "line 3, column bid_micros: saw '-2'"),
        ({"bid_micros": ["100", "9e15", "300"]}, "line 3, column bid_micros: saw '9e15'"),
        ({"bid_micros": ["100", "", "300"]}, "line 3, column bid_micros: saw empty"),
        ({"won": ["1", "yes", "1"]}, "line 3, column won: saw 'yes'; allowed: 0 or 1"),
        ({"price_micros": ["", "", "300"]}, "line 2, column price_micros: saw empty"),
        ({"price_micros": ["101", "", "300"]}, "line 2, column price_micros: saw '101'; won, so it cannot exceed"),
        (
            {"price_micros": ["80", "199", "300"]},
            "line 3, column price_micros: saw '199'; lost, so it cannot lie below",
        ),
        ({"click": ["1", "1", "0"]}, "line 3, column click: saw '1'; a click needs a won auction"),
        ({"click": ["", "", "0"]}, "line 2, column click: saw empty"),
        ({"conversion": ["1", "", "1"]}, "line 4, column conversion: saw '1'; a conversion needs a click"),
        ({"conversion_time": ["", "", ""]}, "line 2, column conversion_time: saw empty"),
        ({"conversion_time": ["2023-12-31", "", ""]}, "line 2, column conversion_time: saw '2023-12-31'; before"),
        ({"conversion": ["0", "", ""]}, "line 2, column conversion_time"),
    ],
)
def test_a_bad_cell_is_named_by_file_line_column_and_value(changes, seen):
    message = fault(**changes)
    assert message.startswith("bids.csv: ")
    assert seen in message


def test_a_lost_auction_may_tell_the_price():
    log = log_from_table(table(price_micros=["80", "250", "300"]), source="bids.csv")
    assert log.price_known.all()


def test_bad_rows_are_counted_by_reason_with_one_example_each():
    frame = pd.DataFrame({"time": "never", "bid_micros": "1", "price_micros": "", "won": ["0"] * 100})
    frame.loc[:2, "time"] = "2024-01-01"
    frame.loc[1, "bid_micros"] = "dear"
    with pytest.raises(DataError) as caught:
        log_from_table(frame, source="bids.csv", first_line=2)
    head, first, second, remedy = str(caught.value).splitlines()
    assert head == "bids.csv: 98 of 100 rows (98%) cannot be used:"
    assert first.startswith("  97 rows, such as line 5, column time: saw 'never'; allowed: ISO 8601")
    assert second.startswith("  1 row: line 3, column bid_micros: saw 'dear'; not a number")
    assert remedy == (
        "98% of the rows are bad, and at most 10% may be set aside: so many mean a wrong column, unit or format."
        " Correct the export."
    )


def test_only_bad_rows_that_are_few_enough_may_be_set_aside():
    frame = pd.DataFrame({"time": "2024-01-01", "bid_micros": "1", "price_micros": "", "won": ["0"] * 100})
    for bad, offered in ((10, True), (11, False), (100, False)):
        frame.loc[: bad - 1, "won"] = "perhaps"
        with pytest.raises(DataError) as caught:
            log_from_table(frame, source="bids.csv")
        assert ("--skip-bad-rows FILE" in str(caught.value)) is offered
        assert ("wrong column, unit or format" in str(caught.value)) is not offered


@pytest.mark.parametrize(
    ("changes", "hint"),
    [
        (
            {"bid_micros": ["$1.97", "$2", "$0.50"]},
            "Column bid_micros: prices are whole micros: multiply currency units",
        ),
        ({"bid_micros": ["0.001974", "0.002", "1"]}, "Column bid_micros: prices are whole micros: multiply currency"),
        ({"bid_micros": [1.97, 2.0, 2.5]}, "Column bid_micros: prices are whole micros: multiply currency units"),
        ({"price_micros": ["0,0019 EUR", "", "0,0025 EUR"]}, "Column price_micros: prices are whole micros: multiply"),
        (
            {"time": ["01/10/2026"] * 3},
            "Column time: no value is a time in an accepted form. Write times such as 2024",
        ),
    ],
)
def test_a_column_that_is_wrong_as_a_whole_comes_with_the_form_it_needs(changes, hint):
    assert f"\n{hint}" in fault(**changes)


@pytest.mark.parametrize(
    "changes",
    [{"bid_micros": ["dear"] * 3}, {"bid_micros": ["-5"] * 3}, {"bid_micros": ["1,974"] * 3}, {"won": ["x"] * 3}],
)
def test_a_column_that_is_wrong_in_another_way_is_not_taken_for_currency_units(changes):
    assert "\nColumn" not in fault(**changes)


def test_a_value_that_cannot_be_read_is_not_blamed_on_other_columns_too():
    message = fault(won=["yes", "0", "1"])
    assert message.count("\n  ") == 1
    assert "column won: saw 'yes'" in message


def test_a_missing_column_is_named_with_those_seen():
    with pytest.raises(DataError, match="column 'won' is missing; seen: time, bid_micros, price_micros"):
        log_from_table(table()[["time", "bid_micros", "price_micros"]], source="bids.csv")


def test_an_empty_table_is_refused():
    with pytest.raises(DataError, match="holds no auction"):
        log_from_table(table().iloc[:0], source="bids.csv")
