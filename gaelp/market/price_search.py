"""Search for the log price of budget at which planned spend meets the money, one step at a time, for compiled loops."""

import math
from typing import NamedTuple

from gaelp.market.compiled import compiled

__all__ = ["PriceSearch", "next_price", "search_from"]

_USUAL_SLOPE = -1.2  # of log spend by log price, until two prices were tried


class PriceSearch(NamedTuple):
    """The bracket, the log price to try next, and what the last try said."""

    low: float
    high: float
    price: float
    slope: float
    last_price: float
    last_excess: float


@compiled
def search_from(guess: float, low: float, high: float) -> PriceSearch:
    """Begin at a guess, or at the end of the bracket nearest to it."""
    price = min(max(guess, low), high)
    return PriceSearch(low, high, price, _USUAL_SLOPE, price, 0.0)


@compiled
def next_price(search: PriceSearch, excess: float, evaluation: int, flat: float) -> PriceSearch:
    """After a try: `excess` is the log of spend over money. Secants, halving every fourth step or where spend is flat.

    Log spend is nearly linear in the log price: from last hour's price the secant needs two or three evaluations.
    """
    low, high, price, slope, last_price, last_excess = search
    if excess > 0.0:
        low = price
    else:
        high = price
    if price != last_price:
        slope = (excess - last_excess) / (price - last_price)
    secant = price - excess / slope if slope < -flat else math.inf
    following = secant if low < secant < high and evaluation % 4 < 3 else 0.5 * (low + high)
    return PriceSearch(low, high, following, slope, price, excess)
