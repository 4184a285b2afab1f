from datetime import date

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gaelp.errors import DataError
from gaelp.importing.known_formats import AUCTION_COLUMNS
from gaelp.importing.row_source import frame_source, guess_mapping, named_after_content, open_file, table_source


def written(tmp_path, text, name="report.csv"):
    (tmp_path / name).write_text(text)
    return tmp_path / name


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_the_separator_is_the_one_that_gives_known_names(tmp_path, mark):
    source = open_file(written(tmp_path, mark.join(["Keyword", "Clicks", "Cost"]) + "\n"), "mapped")
    assert source.columns.read_as == {"Keyword": "Keyword", "Clicks": "Clicks", "Cost": "Cost"}


@pytest.mark.parametrize(
    "line", ["January 1, 2024 - January 31, 2024", "1 January 2024 - 31 January 2024", "2024-01-01 – 2024-01-31"]
)
def test_the_period_of_a_report_is_above_its_header(tmp_path, line):
    source = open_file(written(tmp_path, f'Keyword report\n"{line}"\nKeyword,Clicks\na,1\n'), "google-ads")
    assert source.period == (date(2024, 1, 1), date(2024, 1, 31))
    assert [rows.line.tolist() for rows in source.rows()] == [[4]]


def test_a_mapping_is_proposed_by_the_header_of_text_and_parquet(tmp_path):
    text = guess_mapping(written(tmp_path, "time,bid,price,won,click\n2024-01-01,1.5,1.2,1,0\n", "log.csv"))
    assert {name: source.column for name, source in text.columns.items()} == {
        "at": "time",
        "bid_micros": "bid",
        "price_micros": "price",
        "won": "won",
        "clicked": "click",
    }
    assert text.columns["bid_micros"].unit == "currency"
    pq.write_table(pa.table({"time": [1], "won": [1], "bid_micros": [1]}), tmp_path / "log.parquet")
    assert guess_mapping(tmp_path / "log.parquet").columns["bid_micros"].unit == "micros"


def test_a_first_line_of_a_million_characters_is_no_header_and_no_crash(tmp_path):
    with pytest.raises(DataError, match="no known columns"):
        open_file(written(tmp_path, '"' + "x" * 10**6 + "\n"), "mapped")


def test_a_header_without_known_names_asks_for_a_mapping(tmp_path):
    with pytest.raises(DataError, match=r"no known columns; seen: colour, size\. Give a mapping file"):
        open_file(written(tmp_path, "colour,size\nred,1\n"), "mapped")


def test_rows_are_stored_under_the_name_and_the_content_of_their_file(tmp_path):
    path = written(tmp_path, "Keyword,Clicks\na,1\n")
    name = named_after_content(open_file(path, "mapped"), path).stored_as
    assert name.startswith("import:report-")
    path.write_text("Keyword,Clicks\na,2\n")
    assert named_after_content(open_file(path, "mapped"), path).stored_as != name


def test_frames_and_tables_of_a_query_are_sources_too():
    frame = pd.DataFrame({"time": ["2024-01-01"], "bid_micros": [2], "price_micros": [1], "won": [1]})
    [rows] = frame_source(frame, "frame", AUCTION_COLUMNS, first_line=5).rows()
    assert rows.line.tolist() == [5]
    table = pa.Table.from_pandas(frame)
    source = table_source(lambda: [table, table], table.column_names, "query", AUCTION_COLUMNS)
    assert [rows.line.tolist() for rows in source.rows()] == [[1], [2]]
    assert next(source.rows()).contents() == list(source.rows())[1].contents()
