"""Confidence sequences: intervals for a mean that are valid at every look at once, however many there are.

`AsymptoticSequence` is the Gaussian-mixture sequence of Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, "Time-uniform
central limit theory and asymptotic confidence sequences" (arXiv 2103.06476), in its one-sided form: it needs only
a finite variance, and like the normal interval it is valid in the limit, hence a minimum sample. Skewed observations
reach that limit slowly, so the end that skewness makes too narrow is moved outwards by the transformation of Hall, "On
the removal of skewness by transformation" (J. R. Stat. Soc. B 54, 1992); no end is ever moved inwards.

`BoundedSequence` is the predictable plug-in empirical-Bernstein sequence of Waudby-Smith and Ramdas, "Estimating means
of bounded random variables by betting" (arXiv 2010.09686): exact from the first observation on, wider, and only for
observations with known limits, such as shares or success and failure.

Each end of an interval is wrong, ever, with a chance of at most `side_alpha`. One sequence follows any number of runs:
`add` takes one observation of each, as an array of any shape, the same at every call.
"""

import math
from collections.abc import Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt

from gaelp.arrays import Floats

__all__ = [
    "AsymptoticSequence",
    "BoundedSequence",
    "ConfidenceSequence",
    "asymptotic_bounds",
    "asymptotic_radius",
    "bounded_radius",
]


_SMALLEST = 1e-150  # sum of squares that counts as a spread
_SKEWNESS_MIN = 1e-6  # below, the transformation changes nothing and divides by zero
_BET_MAX = 0.5  # half of where the empirical-Bernstein bound breaks down, as in the paper


class ConfidenceSequence(Protocol):
    """What a sequential test needs."""

    count: int

    def add(self, x: npt.ArrayLike) -> None:
        """Add one observation of each run."""
        ...

    def bounds(self) -> tuple[Floats, Floats]:
        """The lower and the upper end for each run, infinite while nothing is known."""
        ...

    def state(self) -> dict[str, float]:
        """The state of a single run, as plain numbers."""
        ...

    def load_state(self, saved: Mapping[str, float]) -> None:
        """Continue from `state`."""
        ...


class AsymptoticSequence:
    """For observations with a finite variance; narrowest, relative to the possible, near `tuned_for` observations."""

    def __init__(self, side_alpha: float, tuned_for: float) -> None:
        self._side_alpha = side_alpha
        self._tuned_for = tuned_for
        self.count = 0
        self._mean: Floats = np.zeros(())
        self._squares: Floats = np.zeros(())  # sums of squared and of cubed distances to the mean
        self._cubes: Floats = np.zeros(())

    def add(self, x: npt.ArrayLike) -> None:
        """Add one observation of each run (Welford's update, stable however far the mean is from zero)."""
        values = np.asarray(x, dtype=np.float64)
        self.count += 1
        n = self.count
        step = values - self._mean
        self._cubes = self._cubes + step**3 * ((n - 1) * (n - 2) / n**2) - 3 * step * self._squares / n
        self._mean = self._mean + step / n
        self._squares = self._squares + step * (values - self._mean)

    def bounds(self) -> tuple[Floats, Floats]:
        """The two ends; infinite while all observations are equal, because their spread is then unknown."""
        if self.count < 2:
            return np.full_like(self._mean, -math.inf), np.full_like(self._mean, math.inf)
        sums = (self._mean, self._squares, self._cubes)
        return asymptotic_bounds(self.count, *sums, side_alpha=self._side_alpha, tuned_for=self._tuned_for)

    def state(self) -> dict[str, float]:
        """Count, mean and the two sums."""
        sums = {"squares": float(self._squares), "cubes": float(self._cubes)}
        return {"count": self.count, "mean": float(self._mean), **sums}

    def load_state(self, saved: Mapping[str, float]) -> None:
        """Continue from `state`."""
        self.count = int(saved["count"])
        self._mean, self._squares, self._cubes = (np.asarray(saved[name]) for name in ("mean", "squares", "cubes"))


class BoundedSequence:
    """For observations between `low` and `high`; inside, they are scaled to 0 and 1."""

    def __init__(self, side_alpha: float, low: float, high: float) -> None:
        self._log_alpha = math.log(1 / side_alpha)
        self._low, self._width = low, high - low
        self.count = 0
        # The paper's priors: half an observation in the middle, with the largest variance there can be.
        self._sums = dict.fromkeys(("values", "squares", "bets", "bet_values", "losses"), np.zeros(()))

    def add(self, x: npt.ArrayLike) -> None:
        """Add one observation of each run; the bet on it depends only on those before."""
        values = (np.asarray(x, dtype=np.float64) - self._low) / self._width
        sums, self.count = self._sums, self.count + 1
        expected = (0.5 + sums["values"]) / self.count
        variance = (0.25 + sums["squares"]) / self.count
        bet = _bet(self.count, variance, self._log_alpha)
        total = sums["values"] + values
        added = {
            "values": values,
            "squares": (values - (0.5 + total) / (self.count + 1)) ** 2,
            "bets": bet,
            "bet_values": bet * values,
            "losses": (values - expected) ** 2 * _loss(bet),
        }
        self._sums = {name: sums[name] + added[name] for name in sums}

    def bounds(self) -> tuple[Floats, Floats]:
        """The two ends, never outside the limits."""
        sums = self._sums
        if self.count == 0:
            return np.asarray(self._low), np.asarray(self._low + self._width)
        middle = sums["bet_values"] / sums["bets"]
        radius = (self._log_alpha + sums["losses"]) / sums["bets"]
        lower, upper = np.clip(middle - radius, 0, 1), np.clip(middle + radius, 0, 1)
        return self._low + self._width * lower, self._low + self._width * upper

    def state(self) -> dict[str, float]:
        """Count and sums."""
        return {"count": self.count, **{name: float(value) for name, value in self._sums.items()}}

    def load_state(self, saved: Mapping[str, float]) -> None:
        """Continue from `state`."""
        self.count = int(saved["count"])
        self._sums = {name: np.asarray(saved[name]) for name in self._sums}


def asymptotic_radius(count: npt.ArrayLike, sd: npt.ArrayLike, *, side_alpha: float, tuned_for: float) -> Floats:
    """Half the width of the interval after `count` observations with standard deviation `sd`."""
    n = np.asarray(count, dtype=np.float64)
    spread = n * _mixing(side_alpha) / tuned_for
    squared = 2 * (spread + 1) / (n * spread) * np.log1p(np.sqrt(spread + 1) / (2 * side_alpha))
    return np.asarray(sd * np.sqrt(squared))


def asymptotic_bounds(
    count: npt.ArrayLike, mean: Floats, squares: Floats, cubes: Floats, *, side_alpha: float, tuned_for: float
) -> tuple[Floats, Floats]:
    """The two ends after `count` observations, at least 2, from the sums of squared and cubed distances to the mean."""
    n = np.asarray(count, dtype=np.float64)
    known = squares > _SMALLEST  # below it their cubes vanish
    sd = np.sqrt(np.where(known, squares, 1) / (n - 1))
    skewness = cubes / n / sd**3
    radius = asymptotic_radius(n, 1.0, side_alpha=side_alpha, tuned_for=tuned_for)
    below = sd * np.maximum(radius, _unskewed(radius, skewness, n))
    above = sd * np.maximum(radius, -_unskewed(-radius, skewness, n))
    return np.where(known, mean - below, -math.inf), np.where(known, mean + above, math.inf)


def bounded_radius(count: int, sd: float, *, side_alpha: float) -> tuple[Floats, Floats]:
    """About half the width after 1 to `count` observations in [0, 1] with standard deviation `sd`; shape (count,).

    Beside it, how many equally weighted observations the middle of the interval is worth: early ones weigh more.
    """
    n = np.arange(1, count + 1, dtype=np.float64)
    log_alpha = math.log(1 / side_alpha)
    bets = _bet(n, (0.25 + (n - 1) * sd**2) / n, log_alpha)
    total = np.cumsum(bets)
    return (log_alpha + np.cumsum(sd**2 * _loss(bets))) / total, total**2 / np.cumsum(bets**2)


def _unskewed(distance: Floats, skewness: Floats, count: Floats) -> Floats:
    """Where Hall's transformation, inverted, puts an end that lies `distance` standard deviations from the mean."""
    skew = np.where(np.abs(skewness) < _SKEWNESS_MIN, _SKEWNESS_MIN, skewness)
    return np.asarray(3 / skew * (np.cbrt(1 + skew * (distance - skew / (6 * count))) - 1))


def _mixing(side_alpha: float) -> float:
    """The variance of the mixture, times the count at which it makes the interval narrowest."""
    log_alpha = -2 * math.log(2 * side_alpha)
    return log_alpha + math.log(log_alpha) + 1


def _bet(count: npt.ArrayLike, variance: Floats, log_alpha: float) -> Floats:
    n = np.asarray(count, dtype=np.float64)
    return np.minimum(np.sqrt(2 * log_alpha / (variance * n * np.log1p(n))), _BET_MAX)


def _loss(bet: Floats) -> Floats:
    return -np.log1p(-bet) - bet
