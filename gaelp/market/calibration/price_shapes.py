"""The shape of log prices around their level, with one mode or several: a mixture of normals, lost bids included."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from gaelp.arrays import Bools, Floats

__all__ = ["PriceShape", "ScoreTable", "fit_shape", "score_table"]

PARTS_MAX = 3
_BINS = 120
_ROUNDS = 100
_GAIN_PER_ROW = 1e-6  # mean log-likelihood not worth another round
_GRID = 4000
_LOG_2PI = math.log(2 * math.pi)


@dataclass(frozen=True, slots=True)
class PriceShape:
    """Density of log price minus level: normals with these weights, means and deviations, each (K,)."""

    weight: Floats
    mean: Floats
    sd: Floats

    def log_density(self, x: Floats) -> Floats:
        """Log density of each part times its weight, shape (n, K)."""
        z = (x[:, None] - self.mean) / self.sd
        return np.asarray(np.log(self.weight / self.sd) - 0.5 * (z**2 + _LOG_2PI))

    def log_above(self, x: Floats) -> Floats:
        """Log chance of a price above x in each part times its weight, shape (n, K)."""
        return np.asarray(np.log(self.weight) + log_ndtr((self.mean - x[:, None]) / self.sd))


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """How much each auction pulls the level up, by its distance from the level, and how much it informs."""

    at: Floats  # (G,) rising, log price or log bid over the level
    price_pull: Floats  # (G,) of a price seen there: minus the slope of the log density
    lost_pull: Floats  # (G,) of a bid lost there: the hazard
    information: Floats  # (G,) of an auction with a bid there: expected square of its pull

    def pull(self, distance: Floats, known: Bools) -> Floats:
        """Of each auction, shape (n,)."""
        priced, lost = (np.interp(distance, self.at, table) for table in (self.price_pull, self.lost_pull))
        return np.where(known, priced, lost)


def fit_shape(distance: Floats, known: Bools) -> PriceShape:
    """Fit to log prices, or log bids where lost, minus the level; n parts are taken if they beat fewer by BIC."""
    low, high = float(distance.min()), float(distance.max())
    edges = np.linspace(low, max(high, low + 1e-6), _BINS + 1)
    points = 0.5 * (edges[1:] + edges[:-1])
    priced, _ = np.histogram(distance[known], edges)
    lost, _ = np.histogram(distance[~known], edges)
    floor = max(float(edges[1] - edges[0]), 1e-3)
    best, best_criterion = PriceShape(np.ones(1), points[:1], np.ones(1)), math.inf
    for parts in range(1, PARTS_MAX + 1):
        shape, log_likelihood = _climb(points, priced.astype(float), lost.astype(float), parts, floor)
        criterion = -2 * log_likelihood + (3 * parts - 1) * math.log(len(distance))
        if criterion >= best_criterion:
            break
        best, best_criterion = shape, criterion
    return best


def _climb(points: Floats, priced: Floats, lost: Floats, parts: int, floor: float) -> tuple[PriceShape, float]:
    """Expectation-maximisation over binned auctions, from parts spread over the quantiles of seen prices."""
    share = np.cumsum(priced) / priced.sum()
    start = np.interp((np.arange(parts) + 0.5) / parts, share, points)
    middle = float((priced * points).sum() / priced.sum())
    spread = max(math.sqrt(float((priced * (points - middle) ** 2).sum() / priced.sum())), floor)
    shape = PriceShape(np.full(parts, 1 / parts), start, np.full(parts, spread / parts))
    some, gone = priced > 0, lost > 0
    x, c, x_count, c_count = points[some], points[gone], priced[some], lost[gone]
    before, total = -math.inf, float(priced.sum() + lost.sum())
    for _ in range(_ROUNDS):
        density, above = shape.log_density(x), shape.log_above(c)
        x_log, c_log = (np.logaddexp.reduce(logs, axis=1) for logs in (density, above))
        log_likelihood = float((x_count * x_log).sum() + (c_count * c_log).sum())
        if log_likelihood - before < _GAIN_PER_ROW * total:
            break
        before = log_likelihood
        x_part = x_count[:, None] * np.exp(density - x_log[:, None])
        c_part = c_count[:, None] * np.exp(above - c_log[:, None])
        shape = _updated(shape, (x, x_part), (c, c_part), floor)
    return shape, before


def _updated(shape: PriceShape, priced: tuple[Floats, Floats], lost: tuple[Floats, Floats], floor: float) -> PriceShape:
    """One maximisation; a lost bid's price is replaced by its expected value and square above the bid."""
    (x, x_part), (c, c_part) = priced, lost
    a = (c[:, None] - shape.mean) / shape.sd
    hazard = np.exp(-0.5 * (a**2 + _LOG_2PI) - log_ndtr(-a))
    count = np.maximum(x_part.sum(axis=0) + c_part.sum(axis=0), 1e-9)
    beyond = shape.mean + shape.sd * hazard
    mean = (x_part.T @ x + (c_part * beyond).sum(axis=0)) / count
    around = shape.sd**2 * (1 + a * hazard - hazard**2) + (beyond - mean) ** 2
    square = (x_part * (x[:, None] - mean) ** 2).sum(axis=0) + (c_part * around).sum(axis=0)
    weight = np.maximum(count / count.sum(), 1e-6)
    return PriceShape(weight / weight.sum(), mean, np.maximum(np.sqrt(square / count), floor))


def score_table(shape: PriceShape, low: float, high: float) -> ScoreTable:
    """Tabulate a shape's pulls between two distances from the level."""
    widest = float(shape.sd.max())
    low, high = min(low, float((shape.mean - 5 * shape.sd).min())), max(high, float((shape.mean + 5 * shape.sd).max()))
    at = np.linspace(low - widest, high + widest, _GRID)
    parts = shape.log_density(at)
    log_density = np.logaddexp.reduce(parts, axis=1)
    share = np.exp(parts - log_density[:, None])
    price_pull = (share * (at[:, None] - shape.mean) / shape.sd**2).sum(axis=1)
    log_above = np.logaddexp.reduce(shape.log_above(at), axis=1)
    lost_pull = np.exp(log_density - log_above)
    density = np.exp(log_density)
    below = np.cumsum(price_pull**2 * density) * (at[1] - at[0])
    return ScoreTable(at, price_pull, lost_pull, below + lost_pull * density)
