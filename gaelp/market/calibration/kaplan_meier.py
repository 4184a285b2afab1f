"""The distribution of rival prices from won and lost bids (Kaplan-Meier): a lost bid says only 'above this'."""

from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Bools, Floats

__all__ = ["PriceCurve", "kaplan_meier"]


@dataclass(frozen=True, slots=True)
class PriceCurve:
    """Share of prices at or below each distinct price that was seen; K may be 0 when every bid was lost."""

    price: Floats  # (K,) rising
    share: Floats  # (K,) rising
    std_error: Floats  # (K,) of share, by Greenwood's formula
    highest: float  # highest price or lost bid; nothing is known beyond
    prices_seen: float
    bids_lost: float  # without a price

    @property
    def unknown_share(self) -> float:
        """Share of auctions dearer than anything in the log."""
        return 1.0 - float(self.share[-1]) if len(self.share) else 1.0

    @property
    def mass(self) -> Floats:
        """Share of each distinct price, shape (K,)."""
        return np.diff(self.share, prepend=0.0)


def kaplan_meier(value: Floats, price_seen: Bools, count: Floats | None = None, *, at_risk_min: int = 1) -> PriceCurve:
    """Product-limit estimate from n auctions: `value` is the price where it was seen, the lost bid elsewhere.

    A bid lost at exactly a seen price still had that price at risk: prices come before losses in a tie.
    `count` repeats an auction, such as the counts of a histogram. Where bids were lost, the curve ends once fewer than
    `at_risk_min` auctions reach that high: a handful would otherwise decide the whole upper tail.
    """
    count = np.ones(len(value)) if count is None else count
    level, position = np.unique(value[count > 0], return_inverse=True)
    price_seen, count = price_seen[count > 0], count[count > 0]
    prices = np.bincount(position, count * price_seen, len(level))
    everyone = np.bincount(position, count, len(level))
    at_risk = np.cumsum(everyone[::-1])[::-1]
    above = np.cumprod(1.0 - prices / at_risk).astype(float)
    left = np.maximum(at_risk - prices, 1e-12)
    greenwood = np.cumsum(prices / (at_risk * left))
    kept = prices > 0
    highest = float(level[-1]) if len(level) else 0.0
    reliable = at_risk >= at_risk_min
    if (prices < everyone).any() and (kept & reliable).any() and not reliable.all():
        kept &= reliable
        highest = float(level[reliable][-1])
    return PriceCurve(
        price=level[kept],
        share=1.0 - above[kept],
        std_error=(above * np.sqrt(greenwood))[kept],
        highest=highest,
        prices_seen=float(prices.sum()),
        bids_lost=float((everyone - prices).sum()),
    )
