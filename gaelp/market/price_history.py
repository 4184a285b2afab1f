"""What past auctions show before a campaign starts: how often each price was paid, and how often clicks followed."""

from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Floats, Ints
from gaelp.errors import DataError
from gaelp.market.auction_log import AuctionLog
from gaelp.market.spec import LandscapeSpec

__all__ = ["PriceHistory"]

_JUST_BELOW = 0.999


@dataclass(frozen=True, slots=True, eq=False)
class PriceHistory:
    """Training auctions as a histogram over whole price units, and the clicks their impressions brought."""

    counts: Ints  # (highest price + 1,) auctions at each price
    clicks: int
    micros_per_unit: int

    def __post_init__(self) -> None:
        if self.counts.ndim != 1 or self.counts.min(initial=0) < 0 or not self.counts[1:].any():
            raise DataError(
                f"a price history of shape {self.counts.shape} seen, one row of counts with an auction above price 0 "
                "allowed: give the training auctions"
            )
        if not 1 <= self.clicks <= self.auctions:
            raise DataError(
                f"{self.clicks} clicks on {self.auctions} impressions seen, 1 to that many allowed: check both"
            )

    @classmethod
    def of_log(cls, log: AuctionLog) -> "PriceHistory":
        """Count the prices of a log's sold auctions."""
        units, rest = np.divmod(log.price_micros[log.sold], log.micros_per_unit)
        if rest.any():
            raise DataError(
                f"prices of the log are not whole units of {log.micros_per_unit} micros (seen a rest of {rest.max()}): "
                "read the log with the unit that its prices are rounded to"
            )
        return cls(np.bincount(units).astype(np.int64), int(log.click[log.sold].sum()), log.micros_per_unit)

    @property
    def auctions(self) -> int:
        """How many auctions were counted."""
        return int(self.counts.sum())

    @property
    def cost_units(self) -> int:
        """What all of them cost together."""
        return int(self.counts @ np.arange(len(self.counts)))

    @property
    def mean_price_units(self) -> float:
        """What one impression cost on average."""
        return self.cost_units / self.auctions

    @property
    def mean_price_micros(self) -> float:
        """The same in micros."""
        return self.mean_price_units * self.micros_per_unit

    @property
    def click_rate(self) -> float:
        """Clicks an impression."""
        return self.clicks / self.auctions

    @property
    def click_cost_micros(self) -> float:
        """What one click cost on average."""
        return self.cost_units / self.clicks * self.micros_per_unit

    def price_chances(self, *, pseudo_count: float = 1.0) -> Floats:
        """Chance of each price; every price up to the highest is counted `pseudo_count` times more (Laplace)."""
        smoothed = self.counts + pseudo_count
        return np.asarray(smoothed / smoothed.sum(), dtype=np.float64)

    def landscape(self, name: str = "history") -> LandscapeSpec:
        """The same distribution as a landscape: the share of prices at or below each price over the mean price.

        A landscape has no price 0: impressions that cost nothing are spread below the lowest price that was paid.
        """
        share = np.cumsum(self.counts) / self.auctions
        paid = np.flatnonzero(self.counts[1:]) + 1
        knots = [(float(price / self.mean_price_units), float(share[price])) for price in paid]
        if len(knots) == 1:
            knots.insert(0, (_JUST_BELOW * knots[0][0], float(share[0])))
        return LandscapeSpec(name=name, knots=tuple(knots))
