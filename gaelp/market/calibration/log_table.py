"""Turn a table with declared columns into a checked log; every bad cell is named by line, column and value."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from gaelp.arrays import Bools, Floats
from gaelp.errors import DataError
from gaelp.market.calibration.log_frame import UNKNOWN_PRICE, BidLog, make_log
from gaelp.market.calibration.log_times import TIME_FORMS, check_utc_offset, hours_of

__all__ = ["OPTIONAL_COLUMNS", "REQUIRED_COLUMNS", "check_columns", "log_from_table"]

REQUIRED_COLUMNS = ("time", "bid_micros", "price_micros", "won")
OPTIONAL_COLUMNS = ("segment", "click", "conversion", "conversion_time")
MICROS_MAX = 10**12
FAULTS_SHOWN = 10
UNNAMED_SEGMENT = "(none)"
_OTHER_MARKS = {";": "semicolons", "\t": "tabs", "|": "bars"}
_WORDS = {"true": "1", "false": "0"}


def log_from_table(
    table: pd.DataFrame | pa.Table, *, source: str, first_line: int = 1, utc_offset_hours: float = 0.0
) -> BidLog:
    """Check a table of logged auctions; `first_line` is the file line of its first row.

    Columns: time, bid_micros, price_micros (empty where lost), won; optional segment, click, conversion,
    conversion_time. Others are ignored.
    """
    check_columns(
        [str(name) for name in table.columns] if isinstance(table, pd.DataFrame) else table.column_names, source
    )
    check_utc_offset(utc_offset_hours)
    frame = table.to_pandas() if isinstance(table, pa.Table) else table
    return _Checked(frame.reset_index(drop=True), source, first_line, utc_offset_hours).log()


def check_columns(names: Sequence[str], source: str) -> None:
    """Refuse a header that lacks a needed column or names one twice."""
    missing = [name for name in REQUIRED_COLUMNS if name not in names]
    if missing:
        raise DataError(
            f"{source}: column {missing[0]!r} is missing; seen: {', '.join(names) or 'none'};"
            f" needed: {', '.join(REQUIRED_COLUMNS)}. {_way_out(names)}"
        )
    repeated = [name for name in (*REQUIRED_COLUMNS, *OPTIONAL_COLUMNS) if names.count(name) > 1]
    if repeated:
        raise DataError(
            f"{source}: column {repeated[0]!r} stands {names.count(repeated[0])} times in the header; allowed: once."
            " Rename or drop the one that is not meant."
        )


def _way_out(names: Sequence[str]) -> str:
    for mark, called in _OTHER_MARKS.items():
        if any(mark in name for name in names):
            return f"The header is separated by {called}, not by commas: save the file with commas."
    return "Rename or add it."


@dataclass(slots=True)
class _Checked:
    """One table on its way to a log, collecting what is wrong with it."""

    frame: pd.DataFrame
    source: str
    first_line: int
    utc_offset_hours: float
    faults: list[tuple[int, str]] = field(default_factory=list)
    faulty_cells: int = 0

    def log(self) -> BidLog:
        time = self._times("time", needed=np.ones(len(self.frame), bool))
        won = self._flags("won", needed=np.ones(len(self.frame), bool))
        bid = self._micros("bid_micros", needed=np.ones(len(self.frame), bool))
        price = self._micros("price_micros", needed=won)
        self._refuse("price_micros", won & (price > bid), "won, so it cannot exceed bid_micros")
        seen = np.isfinite(price)
        self._refuse("price_micros", ~won & seen & (price < bid), "lost, so it cannot lie below bid_micros")
        click = self._flags("click", needed=won) if "click" in self.frame else None
        if click is not None:
            self._refuse("click", click & ~won, "a click needs a won auction")
        conversion = self._conversions(click)
        converted_at = self._conversion_times(time, conversion)
        self._raise_faults()
        return make_log(
            source=self.source,
            time_hours=time,
            bid_micros=bid.astype(np.int64),
            price_micros=np.where(seen, price, UNKNOWN_PRICE).astype(np.int64),
            won=won,
            segment=self._segment_names(),
            click=click,
            conversion=conversion,
            conversion_time_hours=converted_at,
        )

    def _conversions(self, click: Bools | None) -> Bools | None:
        if "conversion" not in self.frame:
            return None
        clicked = np.zeros(len(self.frame), bool) if click is None else click
        conversion = self._flags("conversion", needed=clicked)
        self._refuse("conversion", conversion & ~clicked, "a conversion needs a click in the same row")
        return conversion

    def _conversion_times(self, time: Floats, conversion: Bools | None) -> Floats | None:
        if "conversion_time" not in self.frame:
            return None
        if conversion is None:
            raise DataError(f"{self.source}: conversion_time without conversion; add the column conversion (0 or 1).")
        at = self._times("conversion_time", needed=conversion)
        self._refuse("conversion_time", np.isfinite(at) & ~conversion, "given, but conversion is 0")
        self._refuse("conversion_time", at < time, "before the auction's own time")
        return at

    def _times(self, name: str, needed: Bools) -> Floats:
        hours, given = hours_of(self.frame[name], utc_offset_hours=self.utc_offset_hours)
        self._refuse(name, (given | needed) & np.isnan(hours), f"allowed: {TIME_FORMS}")
        return hours

    def _micros(self, name: str, needed: Bools) -> Floats:
        values, given = _numbers(self.frame[name])
        whole = (values >= 0) & (values <= MICROS_MAX) & (values == np.floor(values))
        self._refuse(name, (given | needed) & ~whole, f"allowed: a whole number of micros from 0 to {MICROS_MAX}")
        return np.where(whole, values, np.nan)

    def _flags(self, name: str, needed: Bools) -> Bools:
        column = self.frame[name]
        if column.dtype.kind not in "biuf":
            column = column.astype("string").str.strip().str.lower().replace(_WORDS)
        values, given = _numbers(column)
        self._refuse(name, (given | needed) & ~np.isin(values, (0, 1)), "allowed: 0 or 1")
        return np.asarray(values == 1)

    def _segment_names(self) -> npt.NDArray[np.str_] | None:
        if "segment" not in self.frame:
            return None
        names = self.frame["segment"].astype("string").str.strip().replace("", UNNAMED_SEGMENT).fillna(UNNAMED_SEGMENT)
        return np.asarray(names.to_numpy(), dtype=np.str_)

    def _refuse(self, name: str, bad: Bools, want: str) -> None:
        self.faulty_cells += int(bad.sum())
        for row in np.flatnonzero(bad)[:FAULTS_SHOWN].tolist():
            seen = self.frame[name].iloc[row]
            shown = "empty" if pd.isna(seen) or seen == "" else repr(str(seen))
            self.faults.append((row, f"line {row + self.first_line}, column {name}: saw {shown}; {want}"))

    def _raise_faults(self) -> None:
        if not self.faults:
            return
        shown = [text for _, text in sorted(self.faults)[:FAULTS_SHOWN]]
        more = f" (and {self.faulty_cells - len(shown)} more)" if self.faulty_cells > len(shown) else ""
        raise DataError(f"{self.source}: " + ". ".join(shown) + f"{more}. Correct or drop these rows.")


def _numbers(column: pd.Series) -> tuple[Floats, Bools]:
    """Values as floats (NaN where unreadable) and where one was given; micros stay exact below 2**53."""
    if column.dtype.kind in "biuf":
        return column.to_numpy(np.float64, na_value=np.nan), column.notna().to_numpy(bool)
    text = column.astype("string").fillna("").str.strip()
    values = pd.to_numeric(text, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    return values, (text != "").to_numpy(bool)
