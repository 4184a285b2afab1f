"""Logged auctions are read exactly, and the first impossible value is named with its place."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gaelp.errors import DataError
from gaelp.market.auction_log import (
    UNKNOWN_PRICE_MICROS,
    AuctionLog,
    LogColumns,
    read_space_separated,
    read_table,
)

GOOD_LINES = "0 70 0.0021143609192222357\n1 0 0.5\n0 300 0\n"
WITH_BID = LogColumns(price="paid", click="clicked", click_probability="ctr", bid="offer")


def written(folder: Path, text: str, name: str = "log.txt") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_space_separated_log_is_read_in_order_with_prices_in_whole_micros(tmp_path: Path) -> None:
    log = read_space_separated(written(tmp_path, GOOD_LINES))
    assert log.price_micros.tolist() == [700, 0, 3000]
    assert log.price_micros.dtype == np.int64
    assert log.click.tolist() == [0, 1, 0]
    assert log.click_probability.tolist() == [0.0021143609192222357, 0.5, 0.0]
    assert log.bid_micros is None
    assert (log.micros_per_unit, len(log)) == (10, 3)


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("0 -1 0.1", ("line 2", "'price'", "-1")),
        ("0 1.5 0.1", None),
        ("0 1.55 0.1", ("line 2", "'price'", "1.55")),
        ("0 nan 0.1", ("line 2", "'price'", "nan")),
        ("0 inf 0.1", ("line 2", "'price'", "inf")),
        ("0 1e300 0.1", ("line 2", "'price'", "1e300")),
        ("0 ten 0.1", ("line 2", "'price'", "ten")),
        ("2 1 0.1", ("line 2", "'click'", "2")),
        ("nan 1 0.1", ("line 2", "'click'", "nan")),
        ("0 1 1.01", ("line 2", "'click_probability'", "1.01")),
        ("0 1 -0.01", ("line 2", "'click_probability'", "-0.01")),
        ("0 1 nan", ("line 2", "'click_probability'", "nan")),
        ("0 1", ("line 2", "2 fields", "3 allowed")),
        ("0 1 0.1 9", ("line 2", "4 fields", "3 allowed")),
        ("", ("line 2", "0 fields", "3 allowed")),
    ],
)
def test_a_bad_row_is_named_by_file_line_column_and_value(
    tmp_path: Path, line: str, seen: tuple[str, ...] | None
) -> None:
    path = written(tmp_path, f"0 5 0.1\n{line}\n0 6 0.1\n")
    if seen is None:
        assert read_space_separated(path).price_micros.tolist() == [50, 15, 60]
        return
    with pytest.raises(DataError) as error:
        read_space_separated(path)
    assert all(part in str(error.value) for part in (str(path), *seen))


def test_a_bad_row_far_down_is_named_by_its_own_line(tmp_path: Path) -> None:
    path = written(tmp_path, "0 5 0.1\n" * 100_007 + "0 5 7\n")
    with pytest.raises(DataError, match=r"line 100008, column 'click_probability': 7 seen"):
        read_space_separated(path)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_table_is_read_by_column_names_and_an_empty_price_is_a_lost_auction(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"log.{suffix}"
    if suffix == "csv":
        text = "ctr,note,paid,clicked,offer\n0.25,a,2.35,1,3\n0.5,b,,0,1.001\n"
        path.write_text(text, encoding="utf-8")
    else:
        columns = {"ctr": [0.25, 0.5], "note": ["a", "b"], "paid": [2.35, None], "clicked": [1, 0], "offer": [3, 1.001]}
        pq.write_table(pa.table(columns), path)
    log = read_table(path, WITH_BID, micros_per_unit=1000)
    assert log.price_micros.tolist() == [2350, UNKNOWN_PRICE_MICROS]
    assert log.sold.tolist() == [True, False]
    assert log.click.tolist() == [1, 0]
    assert log.click_probability.tolist() == [0.25, 0.5]
    assert log.bid_micros is not None
    assert log.bid_micros.tolist() == [3000, 1001]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("column", "value"), [("price", -1.0), ("price", float("nan")), ("click", 2.0), ("click_probability", 1.5)]
)
def test_a_bad_cell_of_a_table_is_named(tmp_path: Path, suffix: str, column: str, value: float) -> None:
    columns = {"price": [1.0, 2.0], "click": [0.0, 1.0], "click_probability": [0.1, 0.2]}
    columns[column][1] = value
    path = tmp_path / f"log.{suffix}"
    if suffix == "csv":
        rows = zip(*columns.values(), strict=True)
        path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]), encoding="utf-8")
    else:
        pq.write_table(pa.table(columns), path)
    with pytest.raises(DataError, match=rf"line {3 if suffix == 'csv' else 2}, column '{column}': {value} seen"):
        read_table(path)


@pytest.mark.parametrize(
    ("name", "text", "seen"),
    [
        ("log.csv", "price,click,click_probability\n,0,0.1\n", "line 2, column 'price': nothing seen"),
        ("log.csv", "price;click;click_probability\n1;0;0.1\n", "separated by ';', save the file with commas"),
        ("log.csv", "price\tclick\tclick_probability\n", "separated by '\\t', save the file with commas"),
        ("log.csv", "price,click,click,click_probability\n1,1,0,0.1\n", "column 'click' must stand once"),
        ("log.csv", "price,click\n1,0\n", "column 'click_probability' must stand once"),
        ("log.csv", "price,price,click,click_probability\n1,1,0,0.1\n", "column 'price' must stand once"),
        ("log.csv", "", "column 'price' must stand once"),
        ("log.csv", "price,click,click_probability\n", "no auctions seen"),
        ("log.csv", "price,click,click_probability\n1,0\n", "line 2: 2 fields seen"),
        ("log.xlsx", "", ".xlsx seen"),
        ("log.parquet", "not parquet", "cannot be read as Parquet"),
    ],
)
def test_a_table_that_lacks_something_says_what(tmp_path: Path, name: str, text: str, seen: str) -> None:
    path = written(tmp_path, text, name)
    with pytest.raises(DataError) as error:
        read_table(path)
    assert str(path) in str(error.value)
    assert seen in str(error.value)


def test_a_file_that_is_missing_or_not_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"absent\.txt: cannot be read"):
        read_space_separated(tmp_path / "absent.txt")
    (tmp_path / "image.txt").write_bytes(b"\xff\xd8\xff")
    with pytest.raises(DataError, match=r"image\.txt"):
        read_space_separated(tmp_path / "image.txt")
    with pytest.raises(DataError, match="no auctions"):
        read_space_separated(written(tmp_path, ""))


def test_a_unit_of_less_than_a_micro_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="micros_per_unit=0"):
        read_space_separated(written(tmp_path, GOOD_LINES), micros_per_unit=0)


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        ({"price_micros": np.array([1, -2])}, "auction 1, column 'price_micros': -2"),
        ({"click": np.array([0, 3], dtype=np.int8)}, "auction 1, column 'click': 3"),
        ({"click_probability": np.array([0.5, np.nan])}, "auction 1, column 'click_probability': nan"),
        ({"bid_micros": np.array([-5, 1])}, "auction 0, column 'bid_micros': -5"),
        ({"click_probability": np.array([0.5])}, "columns of one length"),
    ],
)
def test_a_log_made_in_code_is_checked_like_a_file(change: dict[str, np.ndarray], seen: str) -> None:
    fine = {
        "price_micros": np.array([1, 2]),
        "click": np.array([0, 1], dtype=np.int8),
        "click_probability": np.array([0.1, 0.2]),
        "bid_micros": None,
        "micros_per_unit": 1,
    }
    assert len(AuctionLog(**fine)) == 2
    with pytest.raises(DataError, match=seen):
        AuctionLog(**(fine | change))
