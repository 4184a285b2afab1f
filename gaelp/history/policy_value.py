"""An estimate that remembers what each row adds to it, so that intervals can be computed by cluster."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Floats
from gaelp.errors import DataError

__all__ = ["MEAN", "RATIO", "RATIO_LIFT", "RATIO_SUM", "Formula", "PolicyValue", "mean_value"]


@dataclass(frozen=True, slots=True)
class Formula:
    """A smooth function of column sums that does not change when all sums are scaled alike.

    `combine` maps sums of shape (..., m) to values of shape (...), `slopes` to partial derivatives of shape (..., m).
    """

    combine: Callable[[Floats], Floats]
    slopes: Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True)
class PolicyValue:
    """A named estimate as a function of column sums over n rows (decisions or trajectories).

    `columns` has shape (n, m). `limits` holds the limits of a single row's contribution where they are known; only then
    does a bound without asymptotics exist.
    """

    name: str
    columns: Floats
    formula: Formula
    limits: tuple[float, float] | None = None

    @property
    def sums(self) -> Floats:
        """Column sums, shape (m,)."""
        return np.asarray(self.columns.sum(axis=0))

    @property
    def value(self) -> float:
        """The estimate itself."""
        return float(self.formula.combine(self.sums))

    @property
    def influence(self) -> Floats:
        """By how much the estimate grows if a row is counted once more, to first order; shape (n,), sums to 0."""
        return np.asarray(self.columns @ self.formula.slopes(self.sums))

    @property
    def contributions(self) -> Floats:
        """Pseudo-values, shape (n,): their mean is the estimate, their spread is its uncertainty."""
        return self.value + len(self.columns) * self.influence


def mean_value(name: str, contributions: Floats, limits: tuple[float, float] | None = None) -> PolicyValue:
    """The mean of independent contributions, shape (n,)."""
    return PolicyValue(name, np.column_stack((contributions, np.ones_like(contributions))), MEAN, limits)


def _ratio(sums: Floats) -> Floats:
    return np.asarray(_divided(sums[..., 0], sums[..., 1]))


def _ratio_slopes(sums: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.stack((1 / sums[..., 1], -_ratio(sums) / sums[..., 1]), axis=-1)


def _ratio_sum(sums: Floats) -> Floats:
    return np.asarray(_divided(sums[..., 0], sums[..., 1]) + _divided(sums[..., 2], sums[..., 3]))


def _ratio_sum_slopes(sums: Floats) -> Floats:
    return np.concatenate((_ratio_slopes(sums[..., :2]), _ratio_slopes(sums[..., 2:])), axis=-1)


def _ratio_lift(sums: Floats) -> Floats:
    return np.asarray(_divided(_ratio(sums[..., :2]), _ratio(sums[..., 2:])) - 1)


def _ratio_lift_slopes(sums: Floats) -> Floats:
    target, reference = _ratio(sums[..., :2])[..., None], _ratio(sums[..., 2:])[..., None]
    with np.errstate(divide="ignore", invalid="ignore"):
        first = _ratio_slopes(sums[..., :2]) / reference
        second = -target / reference**2 * _ratio_slopes(sums[..., 2:])
    return np.concatenate((first, second), axis=-1)


def _divided(numerator: Floats, denominator: Floats) -> Floats:
    if np.ndim(denominator) == 0 and denominator == 0:
        raise DataError("a ratio has the denominator 0: there is no spend, or no weight, to divide by")
    with np.errstate(divide="ignore", invalid="ignore"):  # a resample may hold no spend at all
        return np.asarray(numerator / denominator)


MEAN = RATIO = Formula(_ratio, _ratio_slopes)
RATIO_SUM = Formula(_ratio_sum, _ratio_sum_slopes)
RATIO_LIFT = Formula(_ratio_lift, _ratio_lift_slopes)
