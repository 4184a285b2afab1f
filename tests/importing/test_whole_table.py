import pandas as pd
import pytest

from gaelp.errors import DataError
from gaelp.importing.known_formats import AUCTION_COLUMNS
from gaelp.importing.row_source import frame_source
from gaelp.importing.whole_table import read_whole


def source(bad_rows):
    frame = pd.DataFrame({"time": "2024-01-01", "bid_micros": "5", "price_micros": "1", "won": ["1"] * 40})
    frame.loc[: bad_rows - 1, "won"] = "perhaps"
    return frame_source(frame, "frame", AUCTION_COLUMNS)


def test_a_whole_file_becomes_one_table_with_the_columns_it_has():
    read = read_whole(source(0))
    assert read.table.num_rows == 40
    assert read.mapped == {"at", "bid_micros", "price_micros", "won"}
    assert read.skipped is None


def test_bad_rows_stop_it_or_are_set_aside():
    with pytest.raises(DataError, match=r"frame: 2 of 40 rows[\s\S]*--skip-bad-rows FILE"):
        read_whole(source(2))
    read = read_whole(source(2), skip_bad_rows=True)
    assert (read.table.num_rows, len(read.skipped.rows)) == (38, 2)
