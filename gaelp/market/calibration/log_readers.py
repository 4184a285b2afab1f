"""Read logs from files: CSV and Parquet with the declared columns, and iPinYou's raw rows."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from gaelp.arrays import Bools, Ints
from gaelp.errors import DataError
from gaelp.market.calibration.log_columns import DECLARED_COLUMNS, match_columns
from gaelp.market.calibration.log_frame import BidLog
from gaelp.market.calibration.log_table import LogTable, checked_log
from gaelp.market.calibration.log_times import check_utc_offset
from gaelp.market.text_rows import TextRows, check_log_file, original_lines, text_rows

__all__ = ["IPINYOU_COLUMNS", "read_ipinyou", "read_log"]

# fmt: off
IPINYOU_COLUMNS = (
    "click", "weekday", "hour", "bidid", "timestamp", "logtype", "ipinyouid", "useragent", "ip", "region", "city",
    "adexchange", "domain", "url", "urlid", "slotid", "slotwidth", "slotheight", "slotvisibility", "slotformat",
    "slotprice", "creative", "bidprice", "payprice", "keypage", "advertiser", "usertag",
)
# fmt: on
MICROS_PER_FEN_CPM = 10  # a fen is 10,000 micros of a yuan, and the price is for a thousand impressions
_MORE_LINES_MAX = 100  # of one row


def read_log(path: Path, *, utc_offset_hours: float = 0.0, skip_bad_rows: bool = False) -> BidLog:
    """Read a .csv or .parquet file with the columns that log_from_table declares.

    A bad row is an error, or with `skip_bad_rows` set aside in the log's `skipped`, up to a tenth of the rows.
    """
    check_utc_offset(utc_offset_hours)
    suffix = path.suffix.lower()
    check_log_file(path, parquet=suffix == ".parquet")
    if suffix not in {".csv", ".parquet"}:
        raise DataError(
            f"{path.name}: saw suffix {path.suffix!r}; allowed: .csv or .parquet. Convert or rename the file."
        )
    table = _parquet(path) if suffix == ".parquet" else _csv(path)
    return checked_log(table, utc_offset_hours=utc_offset_hours, skip_bad_rows=skip_bad_rows)


def read_ipinyou(path: Path, *, segment_column: str = "adexchange", skip_bad_rows: bool = False) -> BidLog:
    """Read iPinYou's tab-separated rows, won impressions only; prices become micros of a yuan an impression."""
    if segment_column not in IPINYOU_COLUMNS:
        raise DataError(f"saw segment column {segment_column!r}; allowed: {', '.join(IPINYOU_COLUMNS)}.")
    check_log_file(path)
    rows = text_rows(path, delimiter="\t", quoted=False)
    first = _first_of(path, rows)
    width = len(first.fields[0])
    if width < len(IPINYOU_COLUMNS):
        raise DataError(
            f"{path.name}: saw {width} columns; an iPinYou row has at least {len(IPINYOU_COLUMNS)},"
            " separated by tabs. Give the raw log, or use a CSV with the declared columns."
        )
    header = [*IPINYOU_COLUMNS, *[""] * (width - len(IPINYOU_COLUMNS))]
    has_header = int(first.fields[0][0] == IPINYOU_COLUMNS[0])
    rows = chain([first.after(has_header)], rows)
    raw = _text_table(path, rows, header, {"timestamp", segment_column, "bidprice", "payprice", "click"})
    frame = pd.DataFrame(
        {
            "time": raw.frame["timestamp"],
            "segment": raw.frame[segment_column],
            "bid_micros": _in_micros(raw.frame["bidprice"]),
            "price_micros": _in_micros(raw.frame["payprice"]),
            "won": "1",
            "click": raw.frame["click"],
        }
    )
    return checked_log(replace(raw, frame=frame), skip_bad_rows=skip_bad_rows)


def _in_micros(fen_cpm: pd.Series) -> pd.Series:
    """Whole numbers become micros; what is not a number stays as it was read, for the error to show."""
    micros = (pd.to_numeric(fen_cpm, errors="coerce") * MICROS_PER_FEN_CPM).astype("string")
    return micros.where(micros.notna(), fen_cpm.astype("string"))


def _csv(path: Path) -> LogTable:
    rows = text_rows(path, delimiter=",")
    first = _first_of(path, rows)
    header = [name.strip() for name in first.fields[0]]
    columns = match_columns(header, path.name)
    header = [columns.read_as.get(name, "") for name in header]
    table = _text_table(path, chain([first.after(1)], rows), header, DECLARED_COLUMNS)
    return replace(table, columns=columns)


def _first_of(path: Path, rows: Iterator[TextRows]) -> TextRows:
    first = next(rows, None)
    if first is None:
        raise DataError(f"{path.name} has blank lines only; allowed: at least one auction. Export the log again.")
    return first


def _text_table(path: Path, rows: Iterable[TextRows], header: Sequence[str], needed: Collection[str]) -> LogTable:
    """The needed columns as text, so that a bad value can be shown as it is in the file."""
    places = {name: place for place, name in enumerate(header) if name in needed}
    width, empty = len(header), [""] * len(header)
    parts: list[pa.Table] = []
    spans: list[Ints] = []
    for some in rows:
        fields = [len(row) for row in some.fields]
        whole = some.fields if set(fields) == {width} else [row if len(row) == width else empty for row in some.fields]
        columns = list(zip(*whole, strict=True)) or [()] * width
        parts.append(pa.table({name: pa.array(columns[place], pa.string()) for name, place in places.items()}))
        spans.append(np.array([some.first_line, some.last_line, fields]))
    first_line, last_line, fields_seen = np.concatenate(spans, axis=1)
    _check_quotes(path, last_line - first_line, first_line, fields_seen != width)

    def texts_of(positions: Ints) -> list[str]:
        return original_lines(path, list(zip(first_line[positions], last_line[positions], strict=True)))

    return LogTable(path.name, pa.concat_tables(parts).to_pandas(), first_line, texts_of, fields_seen, width)


def _check_quotes(path: Path, more_lines: Ints, first_line: Ints, wrong_width: Bools) -> None:
    """A row that spans lines and has the wrong width, or spans very many, took in other rows by a stray quote."""
    runaway = np.flatnonzero((wrong_width & (more_lines > 0)) | (more_lines > _MORE_LINES_MAX))
    if len(runaway):
        raise DataError(
            f"{path.name}, line {first_line[runaway[0]]}: a quotation mark is open for {more_lines[runaway[0]]} more"
            " lines. Close it in this row, or remove it."
        )


def _parquet(path: Path) -> LogTable:
    try:
        names = pq.read_schema(path).names
        columns = match_columns(names, path.name)
        frame = pq.read_table(path, columns=list(columns.read_as)).to_pandas()
    except (OSError, pa.ArrowInvalid) as problem:
        reason = str(problem).rstrip(". ")
        raise DataError(f"{path.name} cannot be read as Parquet: {reason}. Export it again.") from problem
    return LogTable.of_frame(frame, path.name, columns)
