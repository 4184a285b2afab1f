"""Logged auctions, read from text, CSV or Parquet and checked value by value, with prices exact in micros."""

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gaelp.arrays import Bools, Floats, Ints, Ints8
from gaelp.errors import DataError

__all__ = ["UNKNOWN_PRICE_MICROS", "AuctionLog", "LogColumns", "read_space_separated", "read_table"]

# The price of an auction that was lost: above every bid, so nobody wins it in replay.
UNKNOWN_PRICE_MICROS = int(np.iinfo(np.int64).max)

_LARGEST_EXACT = 2.0**53
_ROWS_AT_ONCE = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class AuctionLog:
    """Auctions in the order in which they were held, one entry each.

    `bid_micros` is what was bid when the log was written: the log can tell what a bid up to it would have met. With it,
    an auction may be lost, and then its price is UNKNOWN_PRICE_MICROS.
    """

    price_micros: Ints  # an impression; what the winner pays
    click: Ints8  # 1 where the impression was clicked
    click_probability: Floats
    bid_micros: Ints | None
    micros_per_unit: int  # of the prices in the file

    def __post_init__(self) -> None:
        columns: list[npt.NDArray[np.generic]] = [self.price_micros, self.click, self.click_probability]
        columns += [] if self.bid_micros is None else [self.bid_micros]
        if {column.shape for column in columns} != {(len(self.price_micros),)} or not len(self.price_micros):
            shapes = ", ".join(str(column.shape) for column in columns)
            raise DataError(
                f"a log needs at least one auction and columns of one length, seen {shapes}: check the file"
            )
        self._require("price_micros", self.price_micros, self.price_micros >= 0, "0 or more")
        self._require("click", self.click, np.isin(self.click, (0, 1)), "0 or 1")
        self._require("click_probability", self.click_probability, _is_probability(self.click_probability), "0 to 1")
        if self.bid_micros is not None:
            self._require("bid_micros", self.bid_micros, self.bid_micros >= 0, "0 or more")

    def __len__(self) -> int:
        return len(self.price_micros)

    @property
    def sold(self) -> Bools:
        """Where the price is known."""
        return np.not_equal(self.price_micros, UNKNOWN_PRICE_MICROS)

    @staticmethod
    def _require(name: str, values: npt.NDArray[np.generic], fine: Bools, allowed: str) -> None:
        if not fine.all():
            first = int(np.argmin(fine))
            raise DataError(f"auction {first}, column {name!r}: {values[first]} seen, {allowed} allowed: mend the log")


@dataclass(frozen=True, slots=True)
class LogColumns:
    """What a file calls its columns; with `bid`, an empty price means that the auction was lost."""

    price: str = "price"
    click: str = "click"
    click_probability: str = "click_probability"
    bid: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns to read, in the order price, click, click probability, bid."""
        return (self.price, self.click, self.click_probability, *([self.bid] if self.bid else []))


@dataclass(frozen=True, slots=True)
class _Part:
    """Some rows of a file as numbers, one array a column in the order of LogColumns.names, and where they stood."""

    lines: Sequence[int]
    texts: Sequence[Sequence[object]]
    numbers: Sequence[Floats]
    price_blank: Bools


def read_space_separated(path: Path, *, micros_per_unit: int = 10) -> AuctionLog:
    """Read lines of "click price probability"; the default unit is iPinYou's, a fen for a thousand impressions."""
    columns = LogColumns()
    with _opened(path) as lines:
        rows = ((number, line.split()) for number, line in enumerate(lines, start=1))
        header = (columns.click, columns.price, columns.click_probability)
        return _assemble(path, _text_parts(path, rows, header, columns), columns, micros_per_unit)


def read_table(path: Path, columns: LogColumns | None = None, *, micros_per_unit: int = 1) -> AuctionLog:
    """Read the named columns of a .csv or .parquet file; prices and bids are in units of `micros_per_unit`."""
    columns = columns or LogColumns()
    if path.suffix == ".parquet":
        return _assemble(path, _parquet_parts(path, columns), columns, micros_per_unit)
    if path.suffix != ".csv":
        raise DataError(f"{path}: {path.suffix or 'no suffix'} seen, .csv or .parquet allowed: convert or rename it")
    with _opened(path) as lines:
        reader = csv.reader(lines)
        header = next(reader, [])
        _require_columns(path, header, columns)
        rows = ((reader.line_num, row) for row in reader)
        return _assemble(path, _text_parts(path, rows, header, columns), columns, micros_per_unit)


@contextmanager
def _opened(path: Path) -> Iterator[Iterator[str]]:
    """The lines of a text file; whatever keeps them from being read becomes a DataError that names the file."""
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            yield lines
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}): check the path") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: {error}; UTF-8 text allowed: convert the file") from error


def _require_columns(path: Path, header: Sequence[str], columns: LogColumns) -> None:
    for name in columns.names:
        if header.count(name) != 1:
            seen = ", ".join(header) or "nothing"
            way_out = "name the right column"
            if len(header) == 1 and (mark := next((mark for mark in ";\t|" if mark in header[0]), None)):
                way_out = f"the header is separated by {mark!r}, save the file with commas"
            raise DataError(f"{path}: column {name!r} must stand once in the header, seen {seen}: {way_out}")


def _text_parts(
    path: Path, rows: Iterable[tuple[int, Sequence[str]]], header: Sequence[str], columns: LogColumns
) -> Iterator[_Part]:
    rows = iter(rows)
    while chunk := list(islice(rows, _ROWS_AT_ONCE)):
        _require_width(path, chunk, header)
        lines = [line for line, _ in chunk]
        texts = [[fields[header.index(name)] for _, fields in chunk] for name in columns.names]
        numbers = [_numbers(path, lines, *column) for column in zip(columns.names, texts, strict=True)]
        yield _Part(lines, texts, numbers, np.array([not text.strip() for text in texts[0]]))


def _require_width(path: Path, chunk: Sequence[tuple[int, Sequence[str]]], header: Sequence[str]) -> None:
    for line, fields in chunk:
        if len(fields) != len(header):
            text = " ".join(fields)[:60]
            raise DataError(
                f"{path}, line {line}: {len(fields)} fields seen in {text!r}, "
                f"{len(header)} allowed ({', '.join(header)}): mend or drop the row"
            )


def _numbers(path: Path, lines: Sequence[int], name: str, texts: Sequence[str]) -> Floats:
    """The texts as numbers, a blank as NaN: whether it may be blank is decided with the other rules."""
    filled = [text if text and not text.isspace() else "nan" for text in texts]
    try:
        return np.array(filled, dtype=np.float64)
    except ValueError:
        line, text = next((line, text) for line, text in zip(lines, filled, strict=True) if not _is_number(text))
        raise DataError(
            f"{path}, line {line}, column {name!r}: {text!r} seen, a number allowed: mend the row"
        ) from None


def _is_number(text: str) -> bool:
    try:
        np.array([text], dtype=np.float64)
    except ValueError:
        return False
    return True


def _parquet_parts(path: Path, columns: LogColumns) -> Iterator[_Part]:
    from pyarrow import ArrowException, float64, parquet  # noqa: PLC0415 - slow, and only Parquet files need it

    try:
        with parquet.ParquetFile(path) as file:
            _require_columns(path, file.schema_arrow.names, columns)
            row = 1
            for batch in file.iter_batches(_ROWS_AT_ONCE, columns=list(columns.names)):
                numbers = [batch.column(name).cast(float64()).to_numpy(zero_copy_only=False) for name in columns.names]
                blank = batch.column(columns.price).is_null().to_numpy(zero_copy_only=False)
                yield _Part(range(row, row + len(batch)), numbers, numbers, blank)
                row += len(batch)
    except (OSError, ArrowException) as error:
        raise DataError(f"{path}: cannot be read as Parquet with columns of numbers ({error}): check it") from error


def _assemble(path: Path, parts: Iterable[_Part], columns: LogColumns, micros_per_unit: int) -> AuctionLog:
    if micros_per_unit < 1:
        raise DataError(f"micros_per_unit={micros_per_unit} seen, 1 or more allowed: one unit must be whole micros")
    ready = [_checked(path, part, columns, micros_per_unit) for part in parts]
    if not ready:
        raise DataError(f"{path}: no auctions seen, at least 1 allowed: check the file")
    price, click, probability, *bid = (np.concatenate(pieces) for pieces in zip(*ready, strict=True))
    return AuctionLog(
        price_micros=price.astype(np.int64),
        click=click.astype(np.int8),
        click_probability=probability.astype(np.float64),
        bid_micros=bid[0].astype(np.int64) if bid else None,
        micros_per_unit=micros_per_unit,
    )


def _checked(path: Path, part: _Part, columns: LogColumns, micros_per_unit: int) -> tuple[Ints | Floats | Ints8, ...]:
    """Refuse the first value that no auction can have; money becomes whole micros."""
    micros_allowed = f"0 or more and whole micros at {micros_per_unit} micros a unit"
    rules: list[tuple[Callable[[Floats], Bools], str]] = [
        (lambda price: _is_money(price * micros_per_unit) | (part.price_blank & bool(columns.bid)), micros_allowed),
        (lambda click: (click == 0) | (click == 1), "0 or 1"),
        (_is_probability, "0 to 1"),
        (lambda bid: _is_money(bid * micros_per_unit), micros_allowed),
    ]
    for place, (name, values) in enumerate(zip(columns.names, part.numbers, strict=True)):
        holds, allowed = rules[place]
        fine = holds(values)
        if not fine.all():
            first = int(np.argmin(fine))
            value = str(part.texts[place][first]) or "nothing"
            raise DataError(
                f"{path}, line {part.lines[first]}, column {name!r}: {value} seen, {allowed} allowed: "
                "mend or drop the row"
            )
    price, click, probability, *bid = part.numbers
    price_micros = np.where(part.price_blank, UNKNOWN_PRICE_MICROS, _micros(np.nan_to_num(price), micros_per_unit))
    return (price_micros, click.astype(np.int8), probability, *(_micros(column, micros_per_unit) for column in bid))


def _micros(units: Floats, micros_per_unit: int) -> Ints:
    return np.rint(units * micros_per_unit).astype(np.int64)


def _is_money(micros: Floats) -> Bools:
    """Whole within rounding of a decimal fraction, and small enough for a float to hold exactly."""
    finite = np.isfinite(micros)
    micros = np.where(finite, micros, -1.0)
    return finite & (micros >= 0) & (micros < _LARGEST_EXACT) & (np.abs(micros - np.rint(micros)) < 1e-6)


def _is_probability(values: Floats) -> Bools:
    return (values >= 0) & (values <= 1)
