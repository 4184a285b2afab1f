"""Turn rows of a file into rows of a stored table; every row is converted or has a reason why it cannot be."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from gaelp.arrays import Bools, Floats, Ints
from gaelp.importing.bad_rows import RowCheck
from gaelp.importing.column_mapping import ColumnSource, ImportMapping
from gaelp.importing.figures import figures_of, numbers_of
from gaelp.importing.text_rows import LineFault
from gaelp.importing.times import TIME_FORMS, TimeReader, time_zone
from gaelp.storage.schema import TABLES, TableName

__all__ = ["Converted", "FileRows", "RowConversion"]

AUCTION_MICROS_MAX = 10**12
_MICROS_MAX = 2**53  # what a float holds exactly
_WORDS = {"true": "1", "false": "0"}
_PRICE = re.compile(r"[^\d.,-]*\d+([.,]\d+)*[^\d.,]*")
_WHOLE = re.compile(r"\d+|\d{1,3}(,\d{3})+")
_ACCOUNT = re.compile(r"[\w.:-]{1,64}")
_TEXT_MAX = 500  # characters of a name
# Where an auction's flag holds, it needs this column.
_NEEDED_WHERE = {"price_micros": "won", "clicked": "won", "converted": "clicked", "converted_at": "converted"}
_RANGES = {"click_probability": (0.0, 1.0), "impression_share": (0.0, 1.0), "competition": (0.0, 100.0)}
_MAY_BE_NEGATIVE = frozenset({"action", "amount_micros", "reward"})


@dataclass(frozen=True, slots=True)
class FileRows:
    """Rows of a file before they are checked; cells are text, or typed where the file has types."""

    frame: pd.DataFrame  # columns as the mapping names them
    line: Ints  # (n,) where each row begins in the file
    text_of: Callable[[int], str]  # the original row at this position
    contents: Callable[[], Sequence[str]]  # (n,) of each row, equal for equal rows of the file
    faults: Mapping[int, LineFault] = field(default_factory=dict)  # lines that are wrong as a whole, by position
    totals: Bools | None = None  # (n,) lines of totals


@dataclass(frozen=True, slots=True)
class Converted:
    """The good rows as a stored table has them, and what is wrong with the others."""

    table: pa.Table
    check: RowCheck
    hints: tuple[str, ...]  # on columns that are wrong as a whole


@dataclass(slots=True)
class RowConversion:
    """Some rows of a file on their way to a table, collecting what is wrong with them.

    `constants` are values of all rows for columns that the mapping does not give; `zone` replaces the mapping's.
    """

    rows: FileRows
    mapping: ImportMapping
    constants: Mapping[str, Any]
    zone: tzinfo | None = None
    check: RowCheck = field(init=False)
    hints: list[str] = field(init=False, default_factory=list)
    _values: dict[str, npt.NDArray[Any]] = field(init=False, default_factory=dict)  # NaN, NaT or None where empty
    _local_day: npt.NDArray[np.datetime64] | None = field(init=False, default=None)

    def run(self) -> Converted:
        """Convert every column, then apply the rules between columns."""
        self.check = RowCheck(self.rows.line)
        self.check.refuse_lines(self.rows.faults)
        if (totals := self.rows.totals) is not None:
            self.check.refuse(totals, "line", "a line of totals, no data", lambda _: "totals", is_expected=True)
        schema = TABLES[self.mapping.table].columns
        for target in self._in_order(schema):
            self._convert(schema.field(target))
            if self.mapping.table is TableName.AUCTIONS and target in self._values:
                self._check_auction(target)
        good = self.check.good
        arrays = [self._array(column, good) for column in schema]
        return Converted(pa.Table.from_arrays(arrays, schema=schema), self.check, tuple(self.hints))

    def _in_order(self, schema: pa.Schema) -> list[str]:
        """Times first, then what decides whether other columns are needed."""
        first = ["at", "won", "bid_micros", "price_micros", "clicked", "converted", "converted_at"]
        names = [name for name in schema.names if name in self.mapping.columns]
        return sorted(names, key=lambda name: first.index(name) if name in first else len(first))

    def _convert(self, column: pa.Field) -> None:
        source, kind = self.mapping.columns[column.name], column.type
        if source.column is not None and source.column not in self.rows.frame:
            return  # optional, and not in this file
        needed = self._needed(column, source)
        if pa.types.is_temporal(kind):
            self._values[column.name] = self._times(column, source, needed)
        elif pa.types.is_boolean(kind):
            self._values[column.name] = self._flags(source, needed)
        elif pa.types.is_string(kind):
            self._values[column.name] = self._names(column, source, needed)
        elif column.name.endswith("_micros"):
            self._values[column.name] = self._micros(column, source, needed)
        else:
            self._values[column.name] = self._numbers(column, source, needed)

    def _needed(self, column: pa.Field, source: ColumnSource) -> Bools:
        flag = _NEEDED_WHERE.get(column.name) if self.mapping.table is TableName.AUCTIONS else None
        if flag is not None:
            return self._flag(flag)
        return np.full(len(self.rows.line), source.required or not column.nullable)

    def _flag(self, name: str) -> Bools:
        """Where a flag is set; False where it is empty or has no column."""
        return self._values[name] == 1 if name in self._values else np.zeros(len(self.rows.line), bool)

    def _cells(self, source: ColumnSource) -> pd.Series:
        if source.column is not None:
            return self.rows.frame[source.column]
        return pd.Series([source.constant] * len(self.rows.line), dtype=None if len(self.rows.line) else "object")

    def _times(self, column: pa.Field, source: ColumnSource, needed: Bools) -> npt.NDArray[np.datetime64]:
        zone = self.zone or time_zone(source.time_zone or self.mapping.time_zone)
        reader = TimeReader(zone, (source.time_format,) if source.time_format else ())
        cells = self._cells(source)
        hours = self.rows.frame.get(source.hour_column)
        is_day = pa.types.is_date(column.type)
        if is_day:
            moments, _, given = reader.as_written(cells)
        else:
            moments, given = reader.utc(cells, hours)
        unread = np.isnat(moments)
        allowed = f"times such as {source.time_format}" if source.time_format else TIME_FORMS
        self._refuse(source, (given | needed) & unread, f"allowed: {allowed}")
        if given.any() and unread[given].all():
            self.hints.append(
                f"Column {source.column}: no value is a time in an accepted form. Write times such as"
                " 2024-01-31T13:05:00."
            )
        if column.name == "at":
            self._local_day = reader.as_written(cells)[0].astype("datetime64[D]")
        return moments

    def _micros(self, column: pa.Field, source: ColumnSource, needed: Bools) -> Floats:
        units, given = self._figures(source)
        is_auction = self.mapping.table is TableName.AUCTIONS
        most = AUCTION_MICROS_MAX if is_auction else _MICROS_MAX
        micros = units * source.micros
        # Reports print averages with any number of decimals; a log of auctions is exact.
        micros = np.where(np.isfinite(micros), micros, np.nan)
        whole = np.abs(micros - np.rint(micros)) < 1e-6 if is_auction else ~np.isnan(micros)
        least = -most if column.name in _MAY_BE_NEGATIVE else 0
        fits = whole & (micros >= least) & (micros <= most)
        form = (
            "digits only, such as 2500"
            if self.mapping.decimal is None
            else f"figures such as 12{self.mapping.decimal}50"
        )
        self._refuse(source, given & np.isnan(units), f"not a number; allowed: {form}")
        self._refuse(source, (given | needed) & ~fits, f"allowed: {_amounts(source.micros, least, most)}")
        wrong = given & ~fits
        if (
            source.micros == 1
            and wrong.sum() > given.sum() / 2
            and _in_currency(self._shown(source, int(wrong.argmax())))
        ):
            self.hints.append(
                f"Column {source.column}: prices are whole micros: multiply currency units by 1,000,000"
                " (a CPM by 1,000)."
            )
        return np.where(fits, np.rint(micros), np.nan)

    def _numbers(self, column: pa.Field, source: ColumnSource, needed: Bools) -> Floats:
        values, given = self._figures(source)
        is_whole = pa.types.is_integer(column.type)
        least, most = _RANGES.get(column.name, (0.0, float(2**31 - 1) if column.type == pa.int32() else float(2**53)))
        if column.name in _MAY_BE_NEGATIVE:
            least = -most
        fits = (values >= least) & (values <= most) & (~np.full(len(values), is_whole) | (values == np.rint(values)))
        self._refuse(source, given & np.isnan(values), "not a number")
        kind = "a whole number" if is_whole else "a number"
        self._refuse(source, (given | needed) & ~fits, f"allowed: {kind} from {least:,g} to {most:,g}")
        return np.where(fits, values, np.nan)

    def _figures(self, source: ColumnSource) -> tuple[Floats, Bools]:
        cells = self._cells(source)
        return numbers_of(cells) if self.mapping.decimal is None else figures_of(cells, self.mapping.decimal)

    def _flags(self, source: ColumnSource, needed: Bools) -> Floats:
        cells = self._cells(source)
        if cells.dtype.kind not in "biuf":
            cells = cells.astype("string").str.strip().str.lower().replace(_WORDS)
        values, given = numbers_of(cells)
        self._refuse(source, (given | needed) & ~np.isin(values, (0, 1)), "allowed: 0 or 1")
        return values

    def _names(self, column: pa.Field, source: ColumnSource, needed: Bools) -> npt.NDArray[np.object_]:
        text = self._cells(source).astype("string").str.strip().replace("", pd.NA)
        empty = text.isna().to_numpy(bool)
        self._refuse(source, needed & empty, "empty, and every row needs it")
        self._refuse(
            source, (text.str.len() > _TEXT_MAX).fillna(False).to_numpy(bool), f"allowed: {_TEXT_MAX} characters"
        )
        if column.name == "account":
            named = text.fillna("").str.fullmatch(_ACCOUNT).to_numpy(bool)
            self._refuse(source, ~named & ~empty, "allowed: up to 64 letters, digits and . : - _")
        return np.asarray(text.to_numpy(object, na_value=None), object)

    def _check_auction(self, target: str) -> None:
        """Apply the rules between this column of an auction and those converted before it."""
        source, values = self.mapping.columns[target], self._values[target]
        won, clicked, converted = map(self._flag, ("won", "clicked", "converted"))
        match target:
            case "price_micros" if "bid_micros" in self._values:
                bid = self._values["bid_micros"]
                self._refuse(source, won & (values > bid), "won, so it cannot exceed bid_micros")
                self._refuse(source, ~won & (values < bid), "lost, so it cannot lie below bid_micros")
            case "clicked":
                self._refuse(source, clicked & ~won, "a click needs a won auction")
            case "converted":
                self._refuse(source, converted & ~clicked, "a conversion needs a click in the same row")
            case "converted_at":
                self._refuse(source, ~np.isnat(values) & ~converted, "given, but conversion is 0")
                self._refuse(source, values < self._values["at"], "before the auction's own time")

    def _array(self, column: pa.Field, good: Bools) -> pa.Array:
        rows, name = int(good.sum()), column.name
        if name in self._values:
            values = self._values[name][good]
            if values.dtype.kind == "f":
                return pa.array(values, mask=np.isnan(values)).cast(column.type)
            if values.dtype.kind == "M":
                return (
                    pa.array(values).cast(pa.timestamp("us")).cast(column.type) if rows else pa.array([], column.type)
                )
            return pa.array(values, column.type)
        if name == "account_day" and self._local_day is not None:
            return pa.array(self._local_day[good], column.type)
        return pa.repeat(pa.scalar(self.constants.get(name), column.type), rows)

    def _refuse(self, source: ColumnSource, bad: Bools, rule: str) -> None:
        def shown(row: int) -> str:
            text = self._shown(source, row)
            return repr(text) if text else "empty"

        self.check.refuse(bad, f"column {source.column or 'constant'}", rule, shown)

    def _shown(self, source: ColumnSource, row: int) -> str:
        value = self._cells(source).iloc[row]
        return "" if pd.isna(value) else str(value)


def _amounts(unit_micros: float, least: int, most: int) -> str:
    """The amounts that fit, in the unit of the column; those of auctions are whole micros."""
    if unit_micros == 1:
        return f"a whole number of micros from {least:,} to {most:,}"
    return f"an amount from {least / unit_micros:,.10g} to {most / unit_micros:,.10g}"


def _in_currency(text: str) -> bool:
    """Whether this looks like a price in units of a currency, such as $1.97 or 0.001974."""
    return _PRICE.fullmatch(text.strip()) is not None and not _WHOLE.fullmatch(text.strip())
