"""Families of conversion delay, each as a mixture of exponentials.

A mixture has no memory beyond one number a part, so that the clicks which may still convert are known exactly at the
cost of a few multiplications an hour, and a campaign's state stays small whatever the tail. Weibull delays with an
exponent up to 1 are such mixtures; log-normal ones with a wide spread nearly are. The parts reproduce the mean exactly
and the distribution function to within 0.05.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy  # loads its parts when they are first used: seconds that most commands need not spend
from scipy import special

from gaelp.arrays import Floats
from gaelp.market.spec import DelaySpec

__all__ = ["DelayParts", "delay_parts", "exact_survival"]

_PARTS = 7
_EXACT = 1e3  # weight of the two equations that must hold: shares add up to 1, and so does the mean
_LEAST_SHARE = 1e-4


class DelayParts(NamedTuple):
    """Exponential parts of a delay with mean 1."""

    share: Floats  # (K,) adds up to 1
    length: Floats  # (K,) mean of each part; weighted by the shares they add up to 1


def delay_parts(spec: DelaySpec) -> DelayParts:
    """The parts of the delays that are not at once, in units of their mean."""
    if spec.family == "exponential":
        return DelayParts(np.ones(1), np.ones(1))
    if spec.family == "mixture":
        share, length = np.asarray(spec.parts, dtype=np.float64).T
        return _normalised(share, length)
    return _fitted(exact_survival(spec), *_span(spec))


def exact_survival(spec: DelaySpec) -> Callable[[Floats], Floats]:
    """Chance that a log-normal or Weibull delay with mean 1 exceeds each age."""
    if spec.family == "lognormal":
        return lambda age: np.asarray(special.ndtr(-np.log(age / np.exp(-0.5 * spec.shape**2)) / spec.shape))
    scale = 1.0 / special.gamma(1 + 1 / spec.shape)
    return lambda age: np.exp(-((age / scale) ** spec.shape))


def _span(spec: DelaySpec) -> tuple[float, float]:
    """The shortest and the longest part worth trying."""
    if spec.family == "lognormal":
        middle_log = -0.5 * spec.shape**2
        return float(np.exp(middle_log - 2 * spec.shape)), float(np.exp(middle_log + 3 * spec.shape))
    scale = 1.0 / special.gamma(1 + 1 / spec.shape)
    shortest, longest = scale * (-np.log1p(-np.array([0.05, 0.9999]))) ** (1 / spec.shape)
    return float(shortest), float(longest)


def _fitted(survival: Callable[[Floats], Floats], shortest: float, longest: float) -> DelayParts:
    """Shares of parts whose lengths are spread evenly over the logs, by least squares."""
    length = np.geomspace(shortest, longest, _PARTS)
    age = np.geomspace(0.1 * shortest, 3 * longest, 400)
    parts = np.exp(-age[:, None] / length)
    equations = np.vstack([parts, np.full(_PARTS, _EXACT), _EXACT * length])
    share, _ = scipy.optimize.nnls(equations, np.concatenate([survival(age), [_EXACT, _EXACT]]))
    used = share > _LEAST_SHARE
    return _normalised(share[used], length[used])


def _normalised(share: Floats, length: Floats) -> DelayParts:
    share = share / share.sum()
    return DelayParts(share, length / (share @ length))
