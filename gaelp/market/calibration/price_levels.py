"""Log price levels of segments and segment-hours, lost bids included as 'above the bid' (censored normal)."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from gaelp.arrays import Bools, Floats, Ints
from gaelp.market.calibration.log_frame import BidLog

__all__ = ["PriceLevels", "log_prices", "price_levels"]

SEEN_MIN = 3  # prices in a cell before its level counts
_ITERATIONS = 200
_CONVERGED = 1e-7
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True, slots=True)
class PriceLevels:
    """Mean log price of each cell and its precision (1 / variance); precision 0 where too few prices were seen."""

    level: Floats  # (cells,)
    precision: Floats  # (cells,)
    sd: float  # of log prices within a cell


def log_prices(log: BidLog) -> tuple[Floats, Bools]:
    """Log of the seen price, or of the lost bid, and which it is; 0 counts as half the lowest positive value."""
    known = log.price_known
    value = np.where(known, log.price_micros, log.bid_micros).astype(float)
    lowest = float(value[value > 0].min(initial=math.inf))
    floor = lowest / 2 if math.isfinite(lowest) else 0.5
    return np.log(np.maximum(value, floor)), known


def price_levels(log_value: Floats, known: Bools, cell: Ints, cells: int) -> PriceLevels:
    """Most likely mean of each cell with one standard deviation for all.

    A cell's mean climbs by Newton's method, the common deviation by expectation-maximisation.
    """
    usable = np.bincount(cell[known], minlength=cells) >= SEEN_MIN
    rows = usable[cell]
    value, known, cell = log_value[rows], known[rows], cell[rows]
    if not len(value):
        return PriceLevels(np.zeros(cells), np.zeros(cells), 1.0)
    count = np.bincount(cell[known], minlength=cells).astype(float)
    level = np.bincount(cell[known], value[known], cells) / np.maximum(count, 1)
    variance = max(float(((value[known] - level[cell[known]]) ** 2).mean()), 1e-8)
    lost_cell, lost_bid = cell[~known], value[~known]
    seen_sum = np.bincount(cell[known], value[known], cells)
    for _ in range(_ITERATIONS):
        sd = math.sqrt(variance)
        above = (lost_bid - level[lost_cell]) / sd
        hazard = np.exp(-0.5 * above**2 - _HALF_LOG_2PI - log_ndtr(-above))
        information = count + np.bincount(lost_cell, hazard * (hazard - above), cells)
        slope = (seen_sum - count * level) + sd * np.bincount(lost_cell, hazard, cells)
        step = np.where(usable, slope / np.maximum(information, 1e-12), 0.0)
        level = level + np.clip(step, -2.0, 2.0)
        left = float(((value[known] - level[cell[known]]) ** 2).sum()) + variance * float((1 + above * hazard).sum())
        updated = max(left / len(value), 1e-8)
        done = np.abs(step).max() < _CONVERGED and abs(updated - variance) < _CONVERGED * variance
        variance = updated
        if done or not len(lost_bid):
            break
    # Every cell's own mean is taken out of the scatter around it, which makes that scatter look smaller.
    variance *= len(value) / max(len(value) - int(usable.sum()), 1)
    return PriceLevels(level, np.where(usable, information / variance, 0.0), math.sqrt(variance))
