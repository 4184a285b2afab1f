import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gaelp.errors import DataError
from gaelp.market.calibration.log_readers import IPINYOU_COLUMNS, read_ipinyou, read_log

CSV = """time,bid_micros,price_micros,won,click,note
2024-01-01T00:10:00,100,80,1,1,"a, b"
2024-01-01T00:20:00,200,,0,,
"""


def ipinyou_row(**changes):
    values = dict.fromkeys(IPINYOU_COLUMNS, "0")
    values |= {"timestamp": "20131022135101295", "adexchange": "2", "bidprice": "277", "payprice": "205"}
    return "\t".join((values | changes).values())


def test_a_csv_file_is_read_and_other_columns_are_ignored(tmp_path):
    path = tmp_path / "bids.csv"
    path.write_text(CSV)
    log = read_log(path)
    assert log.source == "bids.csv"
    assert log.bid_micros.tolist() == [100, 200]
    assert log.won.tolist() == [True, False]


def test_a_parquet_file_gives_the_same_log(tmp_path):
    path = tmp_path / "bids.parquet"
    columns = {
        "time": pa.array([1704067800, 1704068400]),
        "bid_micros": [100, 200],
        "price_micros": pa.array([80, None], pa.int64()),
        "won": [True, False],
        "click": pa.array([1, None], pa.int8()),
        "note": ["x", "y"],
    }
    pq.write_table(pa.table(columns), path)
    (tmp_path / "bids.csv").write_text(CSV)
    from_csv, from_parquet = read_log(tmp_path / "bids.csv"), read_log(path)
    assert from_parquet.time_hours.tolist() == from_csv.time_hours.tolist()
    assert from_parquet.price_micros.tolist() == from_csv.price_micros.tolist()
    assert from_parquet.click.tolist() == from_csv.click.tolist()


def test_the_line_in_an_error_is_the_line_in_the_file(tmp_path):
    path = tmp_path / "bids.csv"
    path.write_text(CSV.replace("200,,0", "many,,0"))
    with pytest.raises(DataError, match=r"bids\.csv: line 3, column bid_micros: saw 'many'"):
        read_log(path)


def test_the_row_of_a_parquet_file_is_counted_from_one(tmp_path):
    path = tmp_path / "bids.parquet"
    pq.write_table(pa.table({"time": [1704067800], "bid_micros": [-1], "price_micros": [1], "won": [True]}), path)
    with pytest.raises(DataError, match="line 1, column bid_micros: saw '-1'"):
        read_log(path)


@pytest.mark.parametrize(("name", "content"), [("bids.csv", b""), ("bids.parquet", b"not parquet"), ("bids.csv", None)])
def test_a_file_that_cannot_be_read_is_named(tmp_path, name, content):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=name):
        read_log(path)


def test_an_unknown_kind_of_file_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"saw suffix '\.xlsx'; allowed: \.csv or \.parquet"):
        read_log(tmp_path / "bids.xlsx")


def test_ipinyou_prices_become_micros_an_impression(tmp_path):
    path = tmp_path / "train.log.txt"
    path.write_text(ipinyou_row(click="1") + "\n" + ipinyou_row(payprice="13", adexchange="1") + "\n")
    log = read_ipinyou(path)
    assert log.price_micros.tolist() == [2050, 130]
    assert log.bid_micros.tolist() == [2770, 2770]
    assert log.segment_names == ("1", "2")
    assert log.won.all()
    assert log.click.tolist() == [True, False]
    assert log.hour_of_week.tolist() == [24 + 13]  # 2013-10-22 was a Tuesday


def test_ipinyou_rows_may_have_a_header_and_more_columns(tmp_path):
    path = tmp_path / "test.log.txt"
    path.write_text("\t".join([*IPINYOU_COLUMNS, "more"]) + "\n" + ipinyou_row(payprice="x") + "\t0\n")
    with pytest.raises(DataError, match=r"line 2, column price_micros: saw 'x'"):
        read_ipinyou(path)


def test_other_columns_of_ipinyou_can_be_the_segment(tmp_path):
    path = tmp_path / "train.log.txt"
    path.write_text(ipinyou_row(slotvisibility="FirstView") + "\n")
    assert read_ipinyou(path, segment_column="slotvisibility").segment_names == ("FirstView",)
    with pytest.raises(DataError, match="saw segment column 'colour'; allowed: click, weekday"):
        read_ipinyou(path, segment_column="colour")


def test_a_file_with_too_few_columns_is_not_ipinyou(tmp_path):
    path = tmp_path / "train.log.txt"
    path.write_text("1\t2\t3\n")
    with pytest.raises(DataError, match="saw 3 columns; an iPinYou row has at least 27"):
        read_ipinyou(path)


@pytest.mark.parametrize(("mark", "called"), [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")])
def test_a_file_with_another_separator_is_told_apart_from_a_missing_column(tmp_path, mark, called):
    path = tmp_path / "bids.csv"
    path.write_text(f"time{mark}bid_micros{mark}price_micros{mark}won\n")
    with pytest.raises(DataError, match=f"separated by {called}, not by commas"):
        read_log(path)


def test_a_column_that_stands_twice_is_refused_by_name(tmp_path):
    path = tmp_path / "bids.csv"
    path.write_text("time,bid_micros,price_micros,won,click,click\n2024-01-01,100,80,1,1,0\n")
    with pytest.raises(DataError, match=r"bids\.csv: column 'click' stands 2 times"):
        read_log(path)
    names = ["time", "bid_micros", "price_micros", "won", "won"]
    table = pa.Table.from_arrays([pa.array([1704067800]), *(pa.array([1]) for _ in names[1:])], names=names)
    pq.write_table(table, tmp_path / "bids.parquet")
    with pytest.raises(DataError, match=r"bids\.parquet: column 'won' stands 2 times"):
        read_log(tmp_path / "bids.parquet")


def test_a_column_that_is_not_read_may_stand_twice(tmp_path):
    path = tmp_path / "bids.csv"
    path.write_text("time,bid_micros,price_micros,won,note,note\n2024-01-01,100,80,1,a,b\n")
    assert read_log(path).rows == 1


def test_a_missing_column_is_named_with_all_that_were_seen(tmp_path):
    path = tmp_path / "bids.csv"
    path.write_text("when,bid_micros,price_micros,won\n2024-01-01,100,80,1\n")
    with pytest.raises(DataError, match=r"column 'time' is missing; seen: when, bid_micros"):
        read_log(path)


def test_a_byte_order_mark_is_not_part_of_the_first_column(tmp_path):
    path = tmp_path / "bids.csv"
    path.write_text(CSV, encoding="utf-8-sig")
    assert read_log(path).rows == 2


@pytest.mark.parametrize("offset", [float("nan"), float("inf"), 1e9, -12.5, 14.5])
def test_an_offset_that_no_clock_has_is_refused_before_the_file_is_read(tmp_path, offset):
    with pytest.raises(DataError, match="hours from UTC; allowed: -12 to 14"):
        read_log(tmp_path / "missing.csv", utc_offset_hours=offset)
