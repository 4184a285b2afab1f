"""Logged auctions, read from text and checked value by value, with prices exact in micros."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gaelp.arrays import Bools, Floats, Ints, Ints8
from gaelp.errors import DataError
from gaelp.market.bad_rows import RowCheck
from gaelp.market.text_rows import check_log_file, text_rows

__all__ = ["UNKNOWN_PRICE_MICROS", "AuctionLog", "read_space_separated"]

# The price of an auction that was lost: above every bid, so nobody wins it in replay.
UNKNOWN_PRICE_MICROS = int(np.iinfo(np.int64).max)

_LARGEST_EXACT = 2.0**53


@dataclass(frozen=True, slots=True, eq=False)
class AuctionLog:
    """Auctions in the order in which they were held, one entry each.

    `bid_micros` is what was bid when the log was written: the log shows the outcome of any bid up to it. With it,
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
            raise DataError(
                f"auction {first}, column {name!r}: {values[first]} seen, {allowed} allowed: correct the log"
            )


def read_space_separated(path: Path, *, micros_per_unit: int = 10) -> AuctionLog:
    """Read lines of "click price probability"; the default unit is iPinYou's, a fen for a thousand impressions."""
    if micros_per_unit < 1:
        raise DataError(f"micros_per_unit={micros_per_unit} seen, 1 or more allowed: one unit must be whole micros")
    check_log_file(path)
    parts = list(text_rows(path, delimiter=" ", quoted=False))
    if not parts:
        raise DataError(f"{path}: no auctions seen, at least 1 allowed: check the file")
    rows = [row for part in parts for row in part.fields]
    check = RowCheck(str(path), np.concatenate([part.first_line for part in parts]))
    fields = np.array([len(row) for row in rows])
    check.refuse(fields != 3, "number of fields", "3 allowed", lambda row: str(fields[row]))
    click, price, probability = map(_numbers, zip(*(row if len(row) == 3 else "000" for row in rows), strict=True))
    money = f"0 or more and whole micros at {micros_per_unit} micros a unit allowed"
    check.refuse(~np.isin(click, (0, 1)), "column 'click'", "0 or 1 allowed", lambda row: rows[row][0])
    check.refuse(~_is_money(price * micros_per_unit), "column 'price'", money, lambda row: rows[row][1])
    check.refuse(
        ~_is_probability(probability), "column 'click_probability'", "0 to 1 allowed", lambda row: rows[row][2]
    )
    check.raise_if_bad()
    return AuctionLog(
        price_micros=_micros(price, micros_per_unit),
        click=click.astype(np.int8),
        click_probability=probability,
        bid_micros=None,
        micros_per_unit=micros_per_unit,
    )


def _numbers(texts: Sequence[str]) -> Floats:
    """The texts as numbers, NaN where one is not a number."""
    try:
        return np.array(texts, dtype=np.float64)
    except ValueError:
        return np.array([_number(text) for text in texts])


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _micros(units: Floats, micros_per_unit: int) -> Ints:
    return np.rint(units * micros_per_unit).astype(np.int64)


def _is_money(micros: Floats) -> Bools:
    """Whole within rounding of a decimal fraction, and small enough for a float to hold exactly."""
    finite = np.isfinite(micros)
    micros = np.where(finite, micros, -1.0)
    return finite & (micros >= 0) & (micros < _LARGEST_EXACT) & (np.abs(micros - np.rint(micros)) < 1e-6)


def _is_probability(values: Floats) -> Bools:
    return (values >= 0) & (values <= 1)
