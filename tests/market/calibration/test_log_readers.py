import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from gaelp.errors import DataError
from gaelp.importing.known_formats import IPINYOU_NAMES
from gaelp.market.calibration.log_readers import read_ipinyou, read_log

CSV = """time,bid_micros,price_micros,won,click,note
2024-01-01T00:10:00,100,80,1,1,"a, b"
2024-01-01T00:20:00,200,,0,,
"""


def ipinyou_row(**changes):
    values = dict.fromkeys(IPINYOU_NAMES, "0")
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
    with pytest.raises(DataError, match=r"line 3, column bid_micros: saw 'many'"):
        read_log(path)


def test_the_row_of_a_parquet_file_is_counted_from_one(tmp_path):
    path = tmp_path / "bids.parquet"
    pq.write_table(pa.table({"time": [1704067800], "bid_micros": [-1], "price_micros": [1], "won": [True]}), path)
    with pytest.raises(DataError, match="line 1, column bid_micros: saw '-1'"):
        read_log(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("bids.csv", None, "does not exist. Check the path"),
        ("bids.csv", b"", "is empty"),
        ("bids.csv", b"\n\n", "blank lines only"),
        ("bids.csv", b"PAR1....", "is a Parquet file"),
        ("bids.csv", b"PK\x03\x04....", "is an Excel workbook"),
        ("bids.csv", CSV.encode("utf-16"), "is UTF-16 text. Save it as CSV in UTF-8"),
        ("bids.csv", CSV.replace("a, b", "für").encode("latin-1"), "saw the byte 0xfc; not UTF-8 text"),
        ("bids.parquet", b"not parquet", "is not a Parquet file"),
        ("bids.parquet", b"PAR1 damaged", "cannot be read as Parquet"),
        ("train.txt", None, "does not exist"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_log(path)
    assert name in str(caught.value)
    assert message in str(caught.value)
    assert ".." not in str(caught.value)


def test_a_folder_is_not_a_log(tmp_path):
    with pytest.raises(DataError, match="is a folder; allowed: one file"):
        read_log(tmp_path)


MANY = [f"2024-01-0{day}T{hour:02}:30:00,100,80,1,0,x" for day in (1, 2, 3) for hour in range(24)]
HEADER = CSV.splitlines()[0]


def with_bad_rows(path, line_end="\n", encoding="utf-8"):
    rows = [*MANY[:5], "", "2024-01-01T05:00:00,-3,80,1,0,x", *MANY[5:], "1,2,3", '"2024",100,80,1,0,"two\nlines"']
    path.write_bytes(line_end.join([HEADER, *rows, ""]).encode(encoding))
    return path


@pytest.mark.parametrize(("line_end", "encoding"), [("\n", "utf-8"), ("\r\n", "utf-8"), ("\n", "utf-8-sig")])
def test_bad_rows_are_set_aside_with_line_reason_and_original_text(tmp_path, line_end, encoding):
    log = read_log(with_bad_rows(tmp_path / "bids.csv", line_end, encoding), skip_bad_rows=True)
    assert log.rows == len(MANY)
    assert [row.line for row in log.skipped.rows] == [8, 76, 77]
    assert [row.text for row in log.skipped.rows] == [
        "2024-01-01T05:00:00,-3,80,1,0,x",
        "1,2,3",
        '"2024",100,80,1,0,"two\nlines"',
    ]
    reasons = [row.reason for row in log.skipped.rows]
    assert reasons[0].startswith("column bid_micros: allowed: a whole number")
    assert reasons[1] == "number of fields: allowed: 6, as in the header"
    assert reasons[2].startswith("column time: allowed: ISO 8601")


def test_a_log_read_without_its_bad_rows_is_the_log_that_never_had_them(tmp_path):
    (tmp_path / "good.csv").write_text("\n".join([HEADER, *MANY]))
    good, rest = read_log(tmp_path / "good.csv"), read_log(with_bad_rows(tmp_path / "b.csv"), skip_bad_rows=True)
    assert rest.time_hours.tolist() == good.time_hours.tolist()
    assert rest.covered_share.tolist() == good.covered_share.tolist()
    assert rest.end_hours == good.end_hours


def test_more_bad_rows_than_a_tenth_are_not_set_aside(tmp_path):
    path = tmp_path / "bids.csv"
    path.write_text("\n".join([HEADER, *MANY[:18], "soon,1,1,1,1,x", "soon,1,1,1,1,x"]))
    assert len(read_log(path, skip_bad_rows=True).skipped.rows) == 2
    path.write_text("\n".join([HEADER, *MANY[:17], "soon,1,1,1,1,x", "soon,1,1,1,1,x"]))
    with pytest.raises(DataError, match=r"10\.5% of the rows are bad, and at most 10% may"):
        read_log(path, skip_bad_rows=True)


def test_the_bad_rows_of_a_parquet_file_keep_their_cells(tmp_path):
    rows = {"time": [1704067800] * 12, "bid_micros": [-1, *[5] * 11], "price_micros": [1] * 12, "won": [True] * 12}
    pq.write_table(pa.table(rows), tmp_path / "bids.parquet")
    [row] = read_log(tmp_path / "bids.parquet", skip_bad_rows=True).skipped.rows
    assert (row.line, row.text) == (1, '{"time":1704067800,"bid_micros":-1,"price_micros":1,"won":true}')


def test_the_bad_rows_of_ipinyou_are_set_aside_as_they_are_in_the_file(tmp_path):
    path = tmp_path / "train.log.txt"
    path.write_text("\n".join([ipinyou_row(bidprice="dear"), *[ipinyou_row()] * 12]))
    [row] = read_ipinyou(path, skip_bad_rows=True).skipped.rows
    assert (row.line, row.text) == (1, ipinyou_row(bidprice="dear"))


@pytest.mark.parametrize(
    ("bad", "end"), [('2024-01-01T05:00:00,100,80,1,0,"x', ""), ('2024-01-01T05:00:00,"100,80,1,0,x', '",1')]
)
def test_a_quotation_mark_that_is_never_closed_does_not_swallow_the_rest(tmp_path, bad, end):
    path = tmp_path / "bids.csv"
    path.write_text("\n".join([HEADER, *MANY[:30], bad, *MANY[30:], end]))
    log = read_log(path, skip_bad_rows=True)
    assert (log.rows, log.skipped.rows[0].line, log.skipped.rows[0].text) == (len(MANY), 32, bad)
    with pytest.raises(DataError, match=r"line 32, quotation marks: .*close or remove the quotation mark in this row"):
        read_log(path)


@pytest.mark.parametrize(
    ("header", "advice"),
    [
        ("timestamp,Price_Micros,won,x,y,z", "rename timestamp to time; add bid_micros or"),
        ("when,bid_micros,price_micros,x,y,z", "add time, won or rename the columns that hold them."),
        ("time,bid_micros,price_micros,x,y,z", "add won or rename the column that holds it."),
    ],
)
def test_each_missing_column_is_named_with_the_present_column_to_rename(tmp_path, header, advice):
    path = tmp_path / "bids.csv"
    path.write_text(CSV.replace(HEADER, header))
    with pytest.raises(DataError) as caught:
        read_log(path)
    assert f"In the header, the file's first line, {advice}" in str(caught.value)


def test_a_file_without_a_header_line_is_recognised(tmp_path):
    path = tmp_path / "bids.csv"
    path.write_text(CSV.split("\n", 1)[1])
    with pytest.raises(DataError, match="There seems to be no header line"):
        read_log(path)


def test_an_unknown_kind_of_file_is_refused(tmp_path):
    (tmp_path / "bids.xlsx").write_text("text")
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
    path.write_text("\t".join([*IPINYOU_NAMES, "more"]) + "\n" + ipinyou_row(payprice="x") + "\t0\n")
    with pytest.raises(DataError, match=r"line 2, column payprice: saw 'x'"):
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
    with pytest.raises(DataError, match="saw 3 columns; a row of this format has at least 27"):
        read_ipinyou(path)


@pytest.mark.parametrize(("mark", "called"), [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")])
def test_a_file_with_another_separator_is_told_apart_from_a_missing_column(tmp_path, mark, called):
    path = tmp_path / "bids.csv"
    path.write_text(f"time{mark}bid_micros{mark}price_micros{mark}won\n")
    with pytest.raises(DataError, match=f"separated by {called}, not by commas"):
        read_log(path)


def test_a_repeated_column_is_refused_by_name(tmp_path):
    path = tmp_path / "bids.csv"
    path.write_text("time,bid_micros,price_micros,won,click,click\n2024-01-01,100,80,1,1,0\n")
    with pytest.raises(DataError, match=r"bids\.csv: column 'click' is 2 times in the header"):
        read_log(path)
    names = ["time", "bid_micros", "price_micros", "won", "won"]
    table = pa.Table.from_arrays([pa.array([1704067800]), *(pa.array([1]) for _ in names[1:])], names=names)
    pq.write_table(table, tmp_path / "bids.parquet")
    with pytest.raises(DataError, match=r"bids\.parquet: column 'won' is 2 times in the header"):
        read_log(tmp_path / "bids.parquet")


def test_a_repeated_column_that_is_not_read_is_allowed(tmp_path):
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


def test_columns_in_another_case_are_read_alike_from_csv_and_parquet(tmp_path):
    header = HEADER.title().replace("_", " ")
    (tmp_path / "declared.csv").write_text(CSV)
    (tmp_path / "bids.csv").write_text(CSV.replace(HEADER, header))
    frame = pa_csv.read_csv(tmp_path / "bids.csv")
    pq.write_table(frame, tmp_path / "bids.parquet")
    declared = read_log(tmp_path / "declared.csv")
    for name in ("bids.csv", "bids.parquet"):
        log = read_log(tmp_path / name)
        assert log.time_hours.tolist() == declared.time_hours.tolist()
        assert log.click.tolist() == declared.click.tolist()
        assert log.columns.read_as["Bid Micros"] == "bid_micros"
        assert log.columns.unused == ("Note",)
