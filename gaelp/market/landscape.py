"""Bid landscapes as monotone tables: chance to win and expected cost of an opportunity, by log bid over level."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from gaelp.arrays import Floats, Floats32
from gaelp.market.compiled import inlined
from gaelp.market.spec import LandscapeSpec

__all__ = [
    "CELLS_PER_LOG",
    "GRID",
    "GRID_LOW",
    "GRID_POINTS",
    "GRID_STEP",
    "LAST_POSITION",
    "Landscapes",
    "build_landscapes",
    "interpolate",
]

GRID_POINTS = 224
GRID_LOW = math.log(0.02)
GRID_STEP = (math.log(32.0) - GRID_LOW) / (GRID_POINTS - 1)
CELLS_PER_LOG = 1.0 / GRID_STEP
LAST_POSITION = GRID_POINTS - 1.0001
GRID = GRID_LOW + GRID_STEP * np.arange(GRID_POINTS)
_FINE_POINTS = 4000

LandscapeTables = Floats32  # (K + 1, GRID_POINTS), the last row pools the K landscapes


@dataclass(frozen=True, slots=True)
class Landscapes:
    """K landscapes and their pooled average; prices in units of the segment's level.

    `win` and `cost` are read at log(bid / level). `best_win`, `best_cost` and `best_bid_log` are read at
    log(worth / level), where worth is value over the budget's shadow price: what the optimal bid for that worth wins
    and pays. With second prices the best bid is the worth itself.
    """

    names: tuple[str, ...]
    first_price: bool
    win: LandscapeTables
    cost: LandscapeTables
    best_win: LandscapeTables
    best_cost: LandscapeTables
    best_bid_log: LandscapeTables

    @property
    def pooled(self) -> int:
        """Row of the average landscape, the only one a bidder knows."""
        return len(self.names)

    def shaded_bid_log(self, worth_log: Floats32, level_log: Floats32) -> LandscapeTables:
        """Best bid for a worth under the pooled landscape; the worth itself with second prices."""
        if not self.first_price:
            return worth_log
        position = np.clip((worth_log - level_log - GRID_LOW) / GRID_STEP, 0, GRID_POINTS - 1.001)
        index = position.astype(np.int32)
        row = self.best_bid_log[self.pooled]
        bid_log = row[index] + (position - index) * (row[index + 1] - row[index])
        return np.asarray(np.minimum(level_log + bid_log, worth_log), dtype=np.float32)


@inlined
def interpolate(table: LandscapeTables, row: int, x: float) -> float:
    """Value of one table row at log ratio x: linear inside the grid, zero below, flat above."""
    position = min(max((x - GRID_LOW) * CELLS_PER_LOG, 0.0), LAST_POSITION)
    index = int(position)
    low = table[row, index]
    return float(low + (position - index) * (table[row, index + 1] - low))


def build_landscapes(specs: Sequence[LandscapeSpec], *, first_price: bool, steepness: float = 1.0) -> Landscapes:
    """Tabulate price distributions, scaled so that the mean price is one level."""
    rows = [_tabulate(spec, steepness) for spec in specs]
    win = np.vstack([*(row[0] for row in rows), np.mean([row[0] for row in rows], axis=0)])
    paid = np.vstack([*(row[1] for row in rows), np.mean([row[1] for row in rows], axis=0)])
    win[:, 0] = paid[:, 0] = 0.0  # a bid at or below the grid, a fiftieth of the level, wins nothing
    cost = win * np.exp(GRID) if first_price else paid
    best = [_best_responses(row) if first_price else None for row in win]
    return Landscapes(
        names=tuple(spec.name for spec in specs),
        first_price=first_price,
        win=win.astype(np.float32),
        cost=cost.astype(np.float32),
        best_win=_stack(best, 0, win),
        best_cost=_stack(best, 1, cost),
        best_bid_log=_stack(best, 2, np.broadcast_to(GRID, win.shape)),
    )


def _stack(best: Sequence[tuple[Floats, ...] | None], part: int, plain: Floats) -> LandscapeTables:
    rows = [plain[i] if row is None else row[part] for i, row in enumerate(best)]
    return np.vstack(rows).astype(np.float32)


def _tabulate(spec: LandscapeSpec, steepness: float) -> tuple[Floats, Floats]:
    """Share of prices at or below each grid point, and their expected sum (price x chance); mean known price 1."""
    log_price = np.linspace(math.log(1e-4), math.log(1e3), _FINE_POINTS)
    share = _share_below(spec, log_price)  # ends below 1 where a log could not tell; that part stays out of reach
    price = np.exp(steepness * log_price)
    mass = np.diff(share)
    middle = 0.5 * (price[1:] + price[:-1])
    mean = float((mass * middle).sum() / mass.sum())
    paid = np.concatenate([[0.0], np.cumsum(mass * middle)]) / mean
    at = steepness * log_price - math.log(mean)
    return np.interp(GRID, at, share), np.interp(GRID, at, paid)


def _share_below(spec: LandscapeSpec, log_price: Floats) -> Floats:
    if spec.knots:
        ratio, share = np.array(spec.knots).T
        return np.asarray(np.interp(np.exp(log_price), np.concatenate([[0.0], ratio]), np.concatenate([[0.0], share])))
    total = sum(part.weight for part in spec.mixture)
    parts = (part.weight / total * ndtr((log_price - part.log_mean) / part.log_sd) for part in spec.mixture)
    return np.asarray(np.sum(list(parts), axis=0))


def _best_responses(win: Floats) -> tuple[Floats, ...]:
    """First price: for each worth on the grid, the bid that maximises (worth - bid) x chance to win."""
    bid_log = np.linspace(GRID_LOW, GRID[-1], 4000)
    chance = np.interp(bid_log, GRID, win)
    gain = (np.exp(GRID)[:, None] - np.exp(bid_log)[None, :]) * chance[None, :]
    best = np.argmax(gain, axis=1)
    return chance[best], np.exp(bid_log[best]) * chance[best], bid_log[best]
