import gzip
import tracemalloc
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gaelp.errors import DataError
from gaelp.importing.column_mapping import ImportMapping
from gaelp.storage.duckdb_store import DuckDbStore
from gaelp.storage.schema import TableName
from tests.importing import planted_pii

HEADER = "time,bid_micros,price_micros,won,segment,click"
GOOD = [
    f"2024-01-{1 + i // 1440 % 28:02d}T{i // 60 % 24:02d}:{i % 60:02d}:00,100,{i % 90},1,s{i % 5},0" for i in range(40)
]


def log_of(*rows):
    return "\n".join([HEADER, *rows, ""])


def counts(report):
    return tuple(report.total(name) for name in ("read", "stored", "already_stored", "rejected"))


def test_every_row_is_stored_or_rejected_with_line_and_reason(importer):
    report = importer.run(importer.write(log_of(*GOOD[:30], "soon,1,1,1,a,0", "1,2", *GOOD[30:])))
    assert counts(report) == (42, 40, 0, 2)
    assert [(reason.rows, reason.line) for reason in report.files[0].reasons] == [(1, 33), (1, 32)]
    header, first, second = importer.letters.splitlines()
    assert header == "file,line,reason,text"
    assert first.startswith('log.csv,32,"column time: allowed: ISO 8601')
    assert first.endswith('"soon,1,1,1,a,0"')
    assert second == 'log.csv,33,"number of fields: allowed: 6, as in the header","1,2"'
    row = importer.rows(TableName.AUCTIONS)[0]
    assert (row["phase"], row["campaign"], row["won"], row["bid_micros"]) == ("history", "spring", True, 100)
    assert row["source"].startswith("import:log-")


def test_the_same_file_twice_stores_nothing_new_whatever_its_name(importer):
    path = importer.write(log_of(*GOOD, GOOD[0]))
    assert counts(importer.run(path)) == (41, 41, 0, 0)  # equal rows on two lines are two events
    assert counts(importer.run(path)) == (41, 0, 41, 0)
    assert counts(importer.run(importer.write(path.read_bytes(), "copy.csv"))) == (41, 0, 41, 0)
    assert counts(importer.run(path, campaign="autumn")) == (41, 41, 0, 0)


def test_more_than_a_tenth_of_bad_rows_stores_nothing_of_any_file_and_alerts(importer):
    good = importer.write(log_of(*GOOD), "good.csv")
    bad = importer.write(log_of(*GOOD[:17], "soon,1,1,1,a,0", "later,1,1,1,a,0"), "bad.csv")
    with pytest.raises(DataError, match=r"bad\.csv: 2 of 19 rows \(10\.5%\)[\s\S]*Nothing was stored") as caught:
        importer.run(good, bad)
    assert str(importer.letters_path) in str(caught.value)
    assert importer.store.tables == {}
    [alert] = importer.alerts
    assert (alert.severity, alert.source) == ("warning", "import")
    assert "bad.csv" in alert.title
    assert importer.letters.count("\n") == 3


def test_files_of_different_schemas_are_refused_before_any_row_is_stored(importer):
    other = importer.write("when,price\n1,2\n", "other.csv")
    with pytest.raises(DataError, match=r"other\.csv: columns 'time', 'bid_micros', 'price_micros', 'won' are missing"):
        importer.run(importer.write(log_of(*GOOD)), other)
    assert importer.store.tables == {}


def test_a_clock_that_goes_back_is_reported_and_nothing_is_lost(importer):
    report = importer.run(importer.write(log_of(*GOOD[20:], *GOOD[:20])))
    assert counts(report) == (40, 40, 0, 0)
    assert "1 rows are earlier than the row before them, first at line 22." in report.files[0].notes


@pytest.mark.parametrize("name", ["log.csv", "log.csv.gz"])
def test_bom_crlf_and_gzip_are_read(importer, name):
    text = b"\xef\xbb\xbf" + log_of(*GOOD).replace("\n", "\r\n").encode()
    report = importer.run(importer.write(gzip.compress(text) if name.endswith("gz") else text, name))
    assert counts(report) == (40, 40, 0, 0)


def test_a_cut_parquet_file_and_one_of_wrong_types_are_clear_errors(importer):
    table = pa.table(
        {"time": ["2024-01-01"] * 900, "bid_micros": [1] * 900, "price_micros": [1] * 900, "won": [1] * 900}
    )
    path = importer.folder / "log.parquet"
    pq.write_table(table, path)
    whole = path.read_bytes()
    for cut in (len(whole) // 2, len(whole) - 3):
        path.write_bytes(whole[:cut])
        with pytest.raises(DataError, match=r"log\.parquet cannot be read as Parquet"):
            importer.run(path)
    pq.write_table(table.set_column(1, "bid_micros", pa.array([{"a": 1}] * 900)), path)
    with pytest.raises(DataError, match=r"column bid_micros: saw .*not a number[\s\S]*Nothing was stored"):
        importer.run(path)
    assert importer.store.tables == {}


def test_typed_rows_of_parquet_have_ids_by_content_and_line(importer):
    path = importer.folder / "log.parquet"
    pq.write_table(
        pa.table({"time": [1704067800] * 3, "bid_micros": [5] * 3, "price_micros": [1] * 3, "won": [True] * 3}), path
    )
    assert counts(importer.run(path)) == (3, 3, 0, 0)
    assert counts(importer.run(path)) == (3, 0, 3, 0)


def test_a_line_of_200_mb_costs_little_memory_and_one_dead_letter(importer):
    path = importer.folder / "log.csv"
    with path.open("w") as file:
        file.write(log_of(*GOOD))
        for _ in range(200):
            file.write("x" * 10**6)
        file.write("\n" + GOOD[0] + "\n")
    tracemalloc.start()
    report = importer.run(path)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert counts(report) == (42, 41, 0, 1)
    assert report.files[0].reasons[0].reason == "line: allowed: 200,000 characters"
    assert peak_bytes < 50e6
    assert len(importer.letters) < 5000


def test_ten_thousand_malformed_rows_are_all_accounted_for(importer):
    rng = Random(3)  # noqa: S311 - draws malformed rows
    good = [GOOD[i % 40] for i in range(90_000)]
    spots = sorted(rng.sample(range(len(good)), 10_000), reverse=True)
    for spot in spots:
        good.insert(spot, malformed(rng))
    text = "\n".join([HEADER, *good, ""]).encode(errors="surrogateescape")
    report = importer.run(importer.write(text))
    assert counts(report) == (100_000, 90_000, 0, 10_000)
    assert sum(reason.rows for reason in report.files[0].reasons) == 10_000


def malformed(rng):
    """A row with one random fault."""
    fields = rng.choice(GOOD).split(",")
    kind = rng.randrange(9)
    column = rng.randrange(4)
    if kind == 0:
        fields[column] = rng.choice(("", "x", "-5", "1e99", "nan", "2024-13-45", "½", "NULL"))
    elif kind == 1:
        del fields[column]
    elif kind == 2:
        fields.insert(column, "1")
    elif kind == 3:
        fields[4] = '"open'
    elif kind == 4:
        fields[4] = 'a"b'
        fields[3] = "7"
    elif kind == 5:
        fields[4] = "\0"
    elif kind == 6:
        fields[4] = "\udcff"
    elif kind == 7:
        fields[2] = "101"  # above the bid
    else:
        fields[5] = '0"'
    return ",".join(fields)


def test_planted_personal_data_is_in_no_stored_row_no_dead_letter_and_no_message(importer, caplog):
    rng = Random(5)  # noqa: S311 - plants text
    kinds = (planted_pii.emails, planted_pii.phones, planted_pii.cards, planted_pii.keys)
    planted = [secret for kind in kinds for secret in kind(rng, 1000)]
    texts = [planted_pii.free_text(rng, secret).replace('"', "").replace(",", " ") for secret in planted]
    good = [f"2024-01-01T00:00:00,100,80,1,{text},0" for text in texts]
    bad = [f"{text},100,80,1,a,0" for text in texts[::11]]
    report = importer.run(importer.write(log_of(*good, *bad)))
    assert counts(report) == (4364, 4000, 0, 364)
    stored = "\n".join(str(row) for row in importer.rows(TableName.AUCTIONS))
    everywhere = "\n".join([stored, importer.letters, report.model_dump_json(), caplog.text])
    assert [secret for secret in planted if planted_pii.core(secret) in everywhere] == []


def test_personal_data_is_not_in_the_error_or_the_alert_of_a_refused_import(importer):
    path = importer.write(log_of(*["jane.doe@example.org,1,1,1,a,0"] * 20))
    with pytest.raises(DataError) as caught:
        importer.run(path)
    assert "jane.doe" not in f"{caught.value}{importer.alerts}{importer.letters}"


def test_an_id_of_the_file_is_hashed_and_makes_rows_equal_wherever_they_are(importer):
    mapping = ImportMapping.model_validate(
        {
            "table": "clicks",
            "columns": {"id": "gclid", "at": "time", "cost_micros": {"column": "cost", "unit": "cents"}},
        }
    )
    first = importer.write("gclid,time,cost\nabc,2024-01-01,150\n", "a.csv")
    second = importer.write("gclid,time,cost\nxyz,2024-01-02,90\nabc,2024-01-01,150\n", "b.csv")
    importer.run(first, file_format="mapped", mapping=mapping)
    assert counts(importer.run(second, file_format="mapped", mapping=mapping)) == (2, 1, 1, 0)
    assert [row["cost_micros"] for row in importer.rows(TableName.CLICKS)] == [1_500_000, 900_000]
    assert "abc" not in str(importer.rows(TableName.CLICKS))


def test_a_missing_constant_is_asked_for_by_its_option(importer):
    with pytest.raises(DataError, match=r"no column for campaign of auctions; .* Give --campaign NAME"):
        importer.run(importer.write(log_of(*GOOD)), campaign=None)


def test_a_file_without_rows_is_refused(importer):
    with pytest.raises(DataError, match="has no row below its header"):
        importer.run(importer.write(HEADER + "\n"))


def test_rows_reach_the_store_on_disk_and_stay_once(importer):
    importer.store = DuckDbStore(importer.folder / "episodes")
    path = importer.write(log_of(*GOOD))
    assert counts(importer.run(path)) == (40, 40, 0, 0)
    assert counts(importer.run(path)) == (40, 0, 40, 0)
    assert sum(table.num_rows for table in importer.store.scan(TableName.AUCTIONS)) == 40
