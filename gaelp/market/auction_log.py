"""Logged auctions in the order in which they were held, with prices exact in micros."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gaelp.arrays import Bools, Floats, Ints, Ints8
from gaelp.errors import DataError
from gaelp.importing.known_formats import auction_triples
from gaelp.importing.row_source import open_file
from gaelp.importing.whole_table import read_whole

__all__ = ["UNKNOWN_PRICE_MICROS", "AuctionLog", "auction_log", "read_space_separated"]

# The price of an auction that was lost: above every bid, so nobody wins it in replay.
UNKNOWN_PRICE_MICROS = int(np.iinfo(np.int64).max)


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
    source = open_file(path, "mapped", auction_triples(micros_per_unit))
    return auction_log(read_whole(source, remedy="Correct or drop these rows.").table, micros_per_unit)


def auction_log(auctions: pa.Table, micros_per_unit: int) -> AuctionLog:
    """The auctions of a stored table, in its order."""
    has_bids = auctions["bid_micros"].null_count < len(auctions)
    return AuctionLog(
        price_micros=auctions["price_micros"].fill_null(UNKNOWN_PRICE_MICROS).to_numpy(),
        click=auctions["clicked"].fill_null(fill_value=False).to_numpy().astype(np.int8),
        click_probability=auctions["click_probability"].to_numpy(),
        bid_micros=auctions["bid_micros"].to_numpy() if has_bids else None,
        micros_per_unit=micros_per_unit,
    )


def _is_probability(values: Floats) -> Bools:
    return (values >= 0) & (values <= 1)
