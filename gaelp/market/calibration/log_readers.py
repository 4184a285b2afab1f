"""Read logs from files: CSV and Parquet with the declared columns, and iPinYou's raw rows."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from gaelp.errors import DataError
from gaelp.market.calibration.log_frame import BidLog
from gaelp.market.calibration.log_table import OPTIONAL_COLUMNS, REQUIRED_COLUMNS, check_columns, log_from_table
from gaelp.market.calibration.log_times import check_utc_offset

__all__ = ["IPINYOU_COLUMNS", "read_ipinyou", "read_log"]

# fmt: off
IPINYOU_COLUMNS = (
    "click", "weekday", "hour", "bidid", "timestamp", "logtype", "ipinyouid", "useragent", "ip", "region", "city",
    "adexchange", "domain", "url", "urlid", "slotid", "slotwidth", "slotheight", "slotvisibility", "slotformat",
    "slotprice", "creative", "bidprice", "payprice", "keypage", "advertiser", "usertag",
)
# fmt: on
MICROS_PER_FEN_CPM = 10  # a fen is 10,000 micros of a yuan, and the price is for a thousand impressions
_NEEDED = set(REQUIRED_COLUMNS) | set(OPTIONAL_COLUMNS)


def read_log(path: Path, *, utc_offset_hours: float = 0.0) -> BidLog:
    """Read a .csv or .parquet file with the columns that log_from_table declares."""
    check_utc_offset(utc_offset_hours)
    if path.suffix == ".parquet":
        return log_from_table(_parquet(path), source=path.name, utc_offset_hours=utc_offset_hours)
    if path.suffix == ".csv":
        check_columns(_header(path), path.name)
        frame = _text_table(path, sep=",", header=0, usecols=lambda name: name in _NEEDED)
        return log_from_table(frame, source=path.name, first_line=2, utc_offset_hours=utc_offset_hours)
    raise DataError(f"{path.name}: saw suffix {path.suffix!r}; allowed: .csv or .parquet. Convert or rename the file.")


def read_ipinyou(path: Path, *, segment_column: str = "adexchange") -> BidLog:
    """Read iPinYou's tab-separated rows, won impressions only; prices become micros of a yuan an impression."""
    if segment_column not in IPINYOU_COLUMNS:
        raise DataError(f"saw segment column {segment_column!r}; allowed: {', '.join(IPINYOU_COLUMNS)}.")
    frame = _text_table(path, sep="\t", header=None, quoting=3)
    if frame.shape[1] < len(IPINYOU_COLUMNS):
        raise DataError(
            f"{path.name}: saw {frame.shape[1]} columns; an iPinYou row has at least {len(IPINYOU_COLUMNS)},"
            " separated by tabs. Give the raw log, or use a CSV with the declared columns."
        )
    raw = frame.iloc[:, : len(IPINYOU_COLUMNS)].set_axis(list(IPINYOU_COLUMNS), axis=1)
    has_header = int(raw["click"].iloc[0] == "click")
    table = pd.DataFrame(
        {
            "time": raw["timestamp"],
            "segment": raw[segment_column],
            "bid_micros": _in_micros(raw["bidprice"]),
            "price_micros": _in_micros(raw["payprice"]),
            "won": "1",
            "click": raw["click"],
        }
    )
    return log_from_table(table.iloc[has_header:], source=path.name, first_line=1 + has_header)


def _in_micros(fen_cpm: pd.Series) -> pd.Series:
    """Whole numbers become micros; what is not a number stays as it was read, for the error to show."""
    micros = (pd.to_numeric(fen_cpm, errors="coerce") * MICROS_PER_FEN_CPM).astype("string")
    return micros.where(micros.notna(), fen_cpm.astype("string"))


def _header(path: Path) -> list[str]:
    """The first line as it stands: the table reader would rename a column that is there twice."""
    frame = _text_table(path, sep=",", header=None, nrows=1, encoding="utf-8-sig")
    return [str(name) for name in frame.iloc[0]] if len(frame) else []


def _text_table(path: Path, **options: object) -> pd.DataFrame:
    """Everything as text, so that a bad value can be shown as it stands in the file."""
    try:
        return pd.read_csv(path, dtype=str, keep_default_na=False, skip_blank_lines=False, **options)
    except pd.errors.EmptyDataError:
        raise DataError(f"{path.name} is empty; allowed: a header and at least one auction.") from None
    except (OSError, UnicodeDecodeError, pd.errors.ParserError) as problem:
        raise DataError(f"{path.name} cannot be read as a table: {problem}. Give a readable UTF-8 file.") from problem


def _parquet(path: Path) -> pa.Table:
    try:
        names = pq.read_schema(path).names
        check_columns(names, path.name)
        return pq.read_table(path, columns=[name for name in names if name in _NEEDED])
    except (OSError, pa.ArrowInvalid) as problem:
        raise DataError(f"{path.name} cannot be read as Parquet: {problem}. Export it again.") from problem
