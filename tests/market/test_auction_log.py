"""Logged auctions are read exactly, and impossible values are counted and named with their place."""

from pathlib import Path

import numpy as np
import pytest

from gaelp.errors import DataError
from gaelp.market.auction_log import AuctionLog, read_space_separated

GOOD_LINES = "0 70 0.0021143609192222357\n1 0 0.5\n0 300 0\n"


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
    ("line", "parts"),
    [
        ("0 -1 0.1", ("line 2", "column price:", "-1")),
        ("0 1.5 0.1", None),
        ("0 1.55 0.1", ("line 2", "column price:", "1.55")),
        ("0 nan 0.1", ("line 2", "column price:", "nan")),
        ("0 inf 0.1", ("line 2", "column price:", "inf")),
        ("0 1e300 0.1", ("line 2", "column price:", "1e300")),
        ("0 ten 0.1", ("line 2", "column price:", "ten")),
        ("2 1 0.1", ("line 2", "column click:", "2")),
        ("nan 1 0.1", ("line 2", "column click:", "nan")),
        ("0 1 1.01", ("line 2", "column click_probability:", "1.01")),
        ("0 1 -0.01", ("line 2", "column click_probability:", "-0.01")),
        ("0 1 nan", ("line 2", "column click_probability:", "nan")),
        ("0 1", ("line 2", "number of fields: saw 2", "allowed: 3")),
        ("0 1 0.1 9", ("line 2", "number of fields: saw 4", "allowed: 3")),
    ],
)
def test_a_bad_row_is_named_by_file_line_column_and_value(
    tmp_path: Path, line: str, parts: tuple[str, ...] | None
) -> None:
    path = written(tmp_path, f"0 5 0.1\n{line}\n0 6 0.1\n")
    if parts is None:
        assert read_space_separated(path).price_micros.tolist() == [50, 15, 60]
        return
    with pytest.raises(DataError) as error:
        read_space_separated(path)
    assert all(part in str(error.value) for part in (path.name, *parts))


def test_a_bad_row_far_down_is_named_by_its_own_line(tmp_path: Path) -> None:
    path = written(tmp_path, "0 5 0.1\n" * 100_007 + "0 5 7\n")
    with pytest.raises(DataError, match=r"line 100008, column click_probability: saw '7'"):
        read_space_separated(path)


def test_bad_rows_are_counted_by_reason_with_an_example_each(tmp_path: Path) -> None:
    path = written(tmp_path, "0 5 0.1\n" * 4 + "2 5 0.1\n" * 3 + "0 5\n")
    with pytest.raises(DataError) as error:
        read_space_separated(path)
    assert "4 of 8 rows (50%) cannot be used" in str(error.value)
    assert "3 rows, such as line 5, column click: saw '2'; allowed: 0 or 1" in str(error.value)
    assert "1 row: line 8, number of fields: saw 2; allowed: 3, as in the header" in str(error.value)


def test_a_file_that_is_missing_or_not_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"absent\.txt does not exist"):
        read_space_separated(tmp_path / "absent.txt")
    (tmp_path / "image.txt").write_bytes(b"\xff\xd8\xff")
    with pytest.raises(DataError, match=r"image\.txt"):
        read_space_separated(tmp_path / "image.txt")
    with pytest.raises(DataError, match="is empty"):
        read_space_separated(written(tmp_path, ""))


def test_a_unit_of_less_than_a_micro_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="micros_per_unit=0"):
        read_space_separated(written(tmp_path, GOOD_LINES), micros_per_unit=0)


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"price_micros": np.array([1, -2])}, "auction 1, column 'price_micros': -2"),
        ({"click": np.array([0, 3], dtype=np.int8)}, "auction 1, column 'click': 3"),
        ({"click_probability": np.array([0.5, np.nan])}, "auction 1, column 'click_probability': nan"),
        ({"bid_micros": np.array([-5, 1])}, "auction 0, column 'bid_micros': -5"),
        ({"click_probability": np.array([0.5])}, "columns of one length"),
    ],
)
def test_a_log_made_in_code_is_checked_like_a_file(change: dict[str, np.ndarray], parts: str) -> None:
    fine = {
        "price_micros": np.array([1, 2]),
        "click": np.array([0, 1], dtype=np.int8),
        "click_probability": np.array([0.1, 0.2]),
        "bid_micros": None,
        "micros_per_unit": 1,
    }
    assert len(AuctionLog(**fine)) == 2
    with pytest.raises(DataError, match=parts):
        AuctionLog(**(fine | change))
