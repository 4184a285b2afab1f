"""How a bidder estimates price levels from win rates: one definition for the market and for platform reports."""

import numpy as np

from gaelp.arrays import Floats32
from gaelp.market.compiled import inlined
from gaelp.market.landscape import GRID, Landscapes

__all__ = ["SHORTEST_PRESENCE", "hour_change_log", "price_at_win_rate", "track_segment"]

_PRICE_TRACKING = 0.35  # weight of the newest hour in the running price estimate
SHORTEST_PRESENCE = 0.05  # share of an hour: below it, the win rate says nothing
_FEWEST_AUCTIONS = 8  # below this an hour's win rate says too little about the price
_RATE_LOW, _RATE_HIGH = 0.01, 0.995  # win rates beyond these only bound the price
_WIN_RATE_CELLS = 256


def price_at_win_rate(landscapes: Landscapes) -> Floats32:
    """Log ratio of bid over level at which the pooled landscape reaches each win rate, (cells + 2,)."""
    rates = np.arange(_WIN_RATE_CELLS + 2) / _WIN_RATE_CELLS
    pooled = np.maximum.accumulate(landscapes.win[landscapes.pooled] + 1e-9 * np.arange(len(GRID)))
    return np.asarray(np.interp(rates, pooled, GRID), dtype=np.float32)


@inlined
def hour_change_log(profile_log: Floats32, hour_of_day: int) -> float:
    """How the mean log price changes from an hour of the day to the next."""
    return profile_log[(hour_of_day + 1) % len(profile_log)] - profile_log[hour_of_day]  # type: ignore[no-any-return]


@inlined
def track_segment(
    n: int,
    s: int,
    entered: float,
    won: float,
    price_at_rate: Floats32,
    bid_log: Floats32,
    level_log: Floats32,
    signal_log: Floats32,
) -> None:
    """Read one segment's price level off its win rate through the pooled landscape.

    A win rate at either end only bounds the price; one in between measures it.
    """
    if entered >= _FEWEST_AUCTIONS:
        rate = min(max(won / entered, _RATE_LOW), _RATE_HIGH)
        position = rate * (len(price_at_rate) - 2)
        index = int(position)
        low = price_at_rate[index]
        signal = bid_log[n, s] - low - (position - index) * (price_at_rate[index + 1] - low)
        level = level_log[n, s]
        signal_log[n, s] = signal
        if rate <= _RATE_LOW:
            level_log[n, s] = max(level, signal)
        elif rate >= _RATE_HIGH:
            level_log[n, s] = min(level, signal)
        else:
            level_log[n, s] = level + _PRICE_TRACKING * (signal - level)
