"""Price levels of segment-hours as shifts of the segment's own price distribution, whatever its shape.

A censored normal is right for prices with one mode. With two, the level of an hour with lost bids follows the true one
at less than its pace, and its error is not what the normal says. So each hour is moved along the fitted shape instead
(one Newton step from a level that is already close), and both pace and error are measured in the log.
"""

from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Bools, Floats, Ints
from gaelp.market.calibration.price_shapes import ScoreTable, fit_shape, score_table

__all__ = ["HourlyPrices", "shifted_levels"]

SHAPE_PRICES_MIN = 200  # seen prices behind a shape
OWN_SHAPES_MAX = 32  # segments with a shape of their own, the largest first; the others share one
CELL_AUCTIONS_MIN = 3
_ROUNDS = 2
_ROWS_MAX = 50_000  # behind one shape
_STEP_SHARE = 0.1  # of the shape's spread: where the pace of the pull is measured


@dataclass(frozen=True, slots=True)
class HourlyPrices:
    """Rows of a log as the shifts need them, each array (n,)."""

    value: Floats  # log price, or log bid where lost
    known: Bools
    log_bid: Floats
    segment: Ints
    hour: Ints


def shifted_levels(rows: HourlyPrices, level: Floats, precision: Floats) -> tuple[Floats, Floats]:
    """Improve first estimates of level and precision, both (S, T); segments with few prices keep theirs."""
    level, precision = level.copy(), precision.copy()
    groups = _groups(rows, precision)
    for _ in range(_ROUNDS):
        start = _close_levels(level, precision)
        for members in groups:
            inside = np.isin(rows.segment, members) if len(groups) > 1 else np.ones(len(rows.segment), bool)
            level, precision = _moved(rows, inside, start, level, precision)
    return level, precision


def _groups(rows: HourlyPrices, precision: Floats) -> list[Ints]:
    """Segments that share a shape: each large one alone, the others together."""
    prices_seen = np.bincount(rows.segment[rows.known], minlength=len(precision))
    usable = np.flatnonzero((precision > 0).any(axis=1))
    usable = usable[np.argsort(-prices_seen[usable], kind="stable")]
    own = [index for index in usable[:OWN_SHAPES_MAX].tolist() if prices_seen[index] >= SHAPE_PRICES_MIN]
    others = np.setdiff1d(usable, own)
    groups = [np.array([index]) for index in own]
    return [*groups, others] if prices_seen[others].sum() >= SHAPE_PRICES_MIN else groups


def _close_levels(level: Floats, precision: Floats) -> Floats:
    """Levels (S, T) pulled towards segment and hour as far as they may be chance; filled in where there are none."""
    total = np.maximum(precision.sum(axis=1), 1e-12)
    segment = (precision * level).sum(axis=1) / total
    apart = np.where(precision > 0, level - segment[:, None], 0.0)
    by_hour = precision.sum(axis=0)
    hour = _pulled((precision * apart).sum(axis=0) / np.maximum(by_hour, 1e-12), by_hour)
    return np.asarray(segment[:, None] + hour + _pulled(apart - hour, precision))


def _pulled(value: Floats, precision: Floats) -> Floats:
    """Values pulled towards 0 by their own noise; 0 where nothing was seen."""
    some = precision > 0
    if not some.any():
        return np.zeros_like(value)
    weight = precision[some]
    spread = float((weight * value[some] ** 2).sum() - some.sum()) / float(weight.sum())
    return np.where(some, value * max(spread, 0.0) * precision / (1 + max(spread, 0.0) * precision), 0.0)


def _moved(rows: HourlyPrices, inside: Bools, start: Floats, level: Floats, precision: Floats) -> tuple[Floats, Floats]:
    """One Newton step of the group's segment-hours from `start`, with pace and error as the log shows them."""
    known, hours = rows.known[inside], start.shape[1]
    cell = rows.segment[inside] * hours + rows.hour[inside]
    close = start.ravel()[cell]
    distance = rows.value[inside] - close
    part = slice(None, None, max(len(distance) // _ROWS_MAX, 1))
    shape = fit_shape(distance[part], known[part])
    bid_distance = rows.log_bid[inside] - close
    table = score_table(shape, float(distance.min()), float(distance.max()))
    pull = table.pull(distance, known)
    information = _information(table, distance, bid_distance, known)
    step = _STEP_SHARE * float(distance.std())
    pace = (table.pull(distance + step, known) - table.pull(distance - step, known)).sum() / (2 * step)
    cells = start.size
    count = np.bincount(cell, minlength=cells).astype(float)
    informed = np.bincount(cell, information, cells)
    pulled = np.bincount(cell, pull, cells)
    used = (count >= CELL_AUCTIONS_MIN) & (informed > 0)
    if pace <= 0 or not used.any():
        return level, precision
    pace /= informed.sum()
    inner = np.bincount(cell, pull**2, cells) - pulled**2 / np.maximum(count, 1)
    noise = float(inner[used].sum() / (informed * (1 - 1 / np.maximum(count, 1)))[used].sum())
    at = used.reshape(start.shape)
    middle = float((shape.weight * shape.mean).sum())  # the level is the mean log price
    moved = (start.ravel() + middle + pulled / np.maximum(informed * pace, 1e-12)).reshape(start.shape)
    sure = (informed * pace**2 / noise).reshape(start.shape)
    mine = np.zeros(len(start), bool)
    mine[rows.segment[inside]] = True
    return np.where(at, moved, level), np.where(at, sure, np.where(mine[:, None], 0.0, precision))


def _information(table: ScoreTable, distance: Floats, bid_distance: Floats, known: Bools) -> Floats:
    """Expected information of each auction, given its bid and how often the log has the price of a lost one."""
    lost = ~known | (distance > bid_distance)
    seen_share = float((known & lost).sum()) / max(int(lost.sum()), 1)
    by_bid = np.interp(bid_distance, table.at, table.information)
    return np.asarray(seen_share * float(table.information[-1]) + (1 - seen_share) * by_bid)
