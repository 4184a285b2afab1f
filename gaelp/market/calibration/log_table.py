"""Turn a table with declared columns into a checked log; bad rows are counted by reason, with an example each."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from gaelp.arrays import Bools, Floats, Ints
from gaelp.errors import DataError
from gaelp.market.bad_rows import RowCheck
from gaelp.market.calibration.log_columns import LogColumns, match_columns
from gaelp.market.calibration.log_frame import UNKNOWN_PRICE, BidLog, make_log
from gaelp.market.calibration.log_times import TIME_FORMS, check_utc_offset, hours_of

__all__ = ["LogTable", "checked_log", "log_from_table"]

MICROS_MAX = 10**12
UNNAMED_SEGMENT = "(none)"
_WORDS = {"true": "1", "false": "0"}
_SET_ASIDE = "Correct these rows, or set them aside with --skip-bad-rows FILE (at most 10%)."
_PRICE = re.compile(r"[^\d.,-]*\d+([.,]\d+)*[^\d.,]*")
_WHOLE = re.compile(r"\d+|\d{1,3}(,\d{3})+")


@dataclass(frozen=True, slots=True)
class LogTable:
    """Rows of a log before they are checked; cells are text, or typed where the file has types."""

    source: str
    frame: pd.DataFrame
    line: Ints  # (n,) where each row begins in the file
    texts_of: Callable[[Ints], Sequence[str]]  # the original rows at these positions
    fields: Ints | None = None  # (n,) how many each row has, for files in which rows can differ
    width: int = 0  # how many it should have
    columns: LogColumns = field(default_factory=LogColumns)

    @classmethod
    def of_frame(cls, frame: pd.DataFrame, source: str, columns: LogColumns, first_line: int = 1) -> "LogTable":
        """A table whose rows all have its columns; their text is JSON."""
        frame = frame.reset_index(drop=True).rename(columns=dict(columns.read_as))

        def texts_of(positions: Ints) -> list[str]:
            rows = frame.iloc[positions].to_json(orient="records", lines=True, date_format="iso")
            return str(rows).splitlines()

        return cls(source, frame, np.arange(len(frame)) + first_line, texts_of, columns=columns)


def log_from_table(
    table: pd.DataFrame | pa.Table, *, source: str, first_line: int = 1, utc_offset_hours: float = 0.0
) -> BidLog:
    """Check a table of logged auctions; `first_line` is the file line of its first row.

    Columns: time, bid_micros, price_micros (empty where lost), won; optional segment, click, conversion,
    conversion_time. Upper and lower case, spaces and hyphens make no difference; `columns` lists those not used.
    """
    frame = table.to_pandas() if isinstance(table, pa.Table) else table
    columns = match_columns([str(name) for name in frame.columns], source)
    check_utc_offset(utc_offset_hours)
    return checked_log(LogTable.of_frame(frame, source, columns, first_line), utc_offset_hours=utc_offset_hours)


def checked_log(table: LogTable, *, utc_offset_hours: float = 0.0, skip_bad_rows: bool = False) -> BidLog:
    """The log, once every row is good or, with `skip_bad_rows`, the few that are bad are set aside."""
    return _Checked(table, utc_offset_hours).log(skip_bad_rows=skip_bad_rows)


@dataclass(slots=True)
class _Checked:
    """One table on its way to a log, collecting what is wrong with it."""

    table: LogTable
    utc_offset_hours: float
    frame: pd.DataFrame = field(init=False)
    check: RowCheck = field(init=False)
    hints: list[str] = field(init=False, default_factory=list)  # what is wrong with a whole column

    def __post_init__(self) -> None:
        self.frame = self.table.frame
        self.check = RowCheck(self.table.source, self.table.line)

    def log(self, *, skip_bad_rows: bool) -> BidLog:
        self._widths()
        everywhere = np.ones(len(self.frame), bool)
        time = self._times("time", needed=everywhere)
        won = self._flags("won", needed=everywhere)
        bid = self._micros("bid_micros", needed=everywhere)
        price = self._micros("price_micros", needed=won)
        self._refuse("price_micros", won & (price > bid), "won, so it cannot exceed bid_micros")
        known = np.isfinite(price)
        self._refuse("price_micros", ~won & known & (price < bid), "lost, so it cannot lie below bid_micros")
        click = self._flags("click", needed=won) if "click" in self.frame else None
        if click is not None:
            self._refuse("click", click & ~won, "a click needs a won auction")
        conversion = self._conversions(click)
        converted_at = self._conversion_times(time, conversion)
        segment = self._segment_names()
        if self.check.too_many or not skip_bad_rows:
            remedy = self.check.too_many or _SET_ASIDE
            self.check.raise_if_bad(remedy="\n".join([*self.hints, remedy]))
        skipped = self.check.set_aside(self.table.texts_of) if skip_bad_rows else None
        good = self.check.good
        return make_log(
            source=self.table.source,
            time_hours=time[good],
            bid_micros=bid[good].astype(np.int64),
            price_micros=np.where(known, price, UNKNOWN_PRICE)[good].astype(np.int64),
            won=won[good],
            segment=None if segment is None else segment[good],
            click=None if click is None else click[good],
            conversion=None if conversion is None else conversion[good],
            conversion_time_hours=None if converted_at is None else converted_at[good],
            skipped=skipped,
            columns=self.table.columns,
        )

    def _widths(self) -> None:
        fields = self.table.fields
        if fields is not None:
            rule = f"allowed: {self.table.width}, as in the header"
            self.check.refuse(fields != self.table.width, "number of fields", rule, lambda row: str(fields[row]))

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
            raise DataError(
                f"{self.table.source}: conversion_time without conversion; add the column conversion (0 or 1)."
            )
        at = self._times("conversion_time", needed=conversion)
        self._refuse("conversion_time", np.isfinite(at) & ~conversion, "given, but conversion is 0")
        self._refuse("conversion_time", at < time, "before the auction's own time")
        return at

    def _times(self, name: str, needed: Bools) -> Floats:
        hours, given = hours_of(self.frame[name], utc_offset_hours=self.utc_offset_hours)
        unread = np.isnan(hours)
        self._refuse(name, (given | needed) & unread, f"allowed: {TIME_FORMS}")
        if given.any() and unread[given].all():
            self.hints.append(
                f"Column {name}: no value is a time in an accepted form. Write times such as 2024-01-31T13:05:00."
            )
        return hours

    def _micros(self, name: str, needed: Bools) -> Floats:
        values, given = _numbers(self.frame[name])
        whole = (values >= 0) & (values <= MICROS_MAX) & (values == np.floor(values))
        self._refuse(name, given & np.isnan(values), "not a number; allowed: digits only, such as 2500")
        self._refuse(name, (given | needed) & ~whole, f"allowed: a whole number of micros from 0 to {MICROS_MAX:,}")
        wrong = given & ~whole
        if wrong.sum() > given.sum() / 2 and _in_currency(str(self.frame[name][wrong].iloc[0])):
            self.hints.append(
                f"Column {name}: prices are whole micros: multiply currency units by 1,000,000 (a CPM by 1,000)."
            )
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

    def _refuse(self, name: str, bad: Bools, rule: str) -> None:
        def shown(row: int) -> str:
            value = self.frame[name].iloc[row]
            return "empty" if pd.isna(value) or value == "" else repr(str(value))

        self.check.refuse(bad, f"column {name}", rule, shown)


def _in_currency(text: str) -> bool:
    """Whether this looks like a price in units of a currency, such as $1.97 or 0.001974."""
    return _PRICE.fullmatch(text.strip()) is not None and not _WHOLE.fullmatch(text.strip())


def _numbers(column: pd.Series) -> tuple[Floats, Bools]:
    """Values as floats (NaN where unreadable) and where one was given; micros stay exact below 2**53."""
    if column.dtype.kind in "biuf":
        return column.to_numpy(np.float64, na_value=np.nan), column.notna().to_numpy(bool)
    text = column.astype("string").fillna("").str.strip()
    values = pd.to_numeric(text, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    return values, (text != "").to_numpy(bool)
