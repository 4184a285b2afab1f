"""The log of bids that a file of auctions holds: CSV and Parquet with the declared columns, and iPinYou's raw rows."""

from datetime import timedelta, tzinfo
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gaelp.arrays import Bools, Floats
from gaelp.errors import DataError
from gaelp.importing.column_mapping import ColumnSource
from gaelp.importing.known_formats import IPINYOU, IPINYOU_NAMES
from gaelp.importing.row_source import RowSource, open_file
from gaelp.importing.times import fixed_offset
from gaelp.importing.whole_table import WholeTable, read_whole
from gaelp.market.calibration.log_frame import UNKNOWN_PRICE, BidLog, make_log

__all__ = ["bid_log", "read_ipinyou", "read_log"]

_UNNAMED_SEGMENT = "(none)"


def read_log(path: Path, *, utc_offset_hours: float = 0.0, skip_bad_rows: bool = False) -> BidLog:
    """Read a .csv or .parquet file with the columns that docs/calibration.md declares.

    A bad row is an error, or with `skip_bad_rows` set aside in the log's `skipped`, up to a tenth of the rows.
    """
    zone = fixed_offset(utc_offset_hours)
    if path.suffix.lower() not in {".csv", ".parquet"} and path.is_file():
        raise DataError(
            f"{path.name}: saw suffix {path.suffix!r}; allowed: .csv or .parquet. Convert or rename the file."
        )
    return bid_log(open_file(path, "columns"), zone=zone, skip_bad_rows=skip_bad_rows)


def read_ipinyou(path: Path, *, segment_column: str = "adexchange", skip_bad_rows: bool = False) -> BidLog:
    """Read iPinYou's tab-separated rows, won impressions only; prices become micros of a yuan an impression."""
    if segment_column not in IPINYOU_NAMES:
        raise DataError(f"saw segment column {segment_column!r}; allowed: {', '.join(IPINYOU_NAMES)}.")
    columns = {**IPINYOU.columns, "segment": ColumnSource(column=segment_column)}
    source = open_file(path, "ipinyou", IPINYOU.model_copy(update={"columns": columns}))
    return bid_log(source, zone=fixed_offset(0), skip_bad_rows=skip_bad_rows)  # its times are the market's clock


def bid_log(source: RowSource, *, zone: tzinfo, skip_bad_rows: bool = False) -> BidLog:
    """Read and check auctions; times become hours on the clock of `zone`, a fixed offset."""
    read = read_whole(source, zone=zone, skip_bad_rows=skip_bad_rows)
    offset = zone.utcoffset(None) or timedelta(0)
    auctions = read.table
    return make_log(
        source=source.name,
        time_hours=_hours(auctions["at"], offset),
        bid_micros=auctions["bid_micros"].to_numpy(),
        price_micros=auctions["price_micros"].fill_null(UNKNOWN_PRICE).to_numpy(),
        won=auctions["won"].to_numpy(),
        segment=_segments(read),
        click=_flags(read, "clicked"),
        conversion=_flags(read, "converted"),
        conversion_time_hours=_hours(auctions["converted_at"], offset) if "converted_at" in read.mapped else None,
        skipped=read.skipped,
        columns=read.columns,
    )


def _hours(times: pa.ChunkedArray, offset: timedelta) -> Floats:
    """Hours since 1970-01-01 00:00 on the local clock, NaN where there is no time."""
    micros = times.to_numpy().astype("datetime64[us]")
    seconds = (micros.astype(np.int64) + offset // timedelta(microseconds=1)) / 1e6
    return np.where(np.isnat(micros), np.nan, seconds / 3600)


def _segments(read: WholeTable) -> np.ndarray | None:
    if "segment" not in read.mapped:
        return None
    return np.asarray(pc.fill_null(read.table["segment"], _UNNAMED_SEGMENT).to_numpy(), dtype=np.str_)


def _flags(read: WholeTable, name: str) -> Bools | None:
    return np.asarray(read.table[name].fill_null(fill_value=False).to_numpy(), bool) if name in read.mapped else None
