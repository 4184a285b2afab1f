"""Maximise a likelihood of a few parameters within bounds, and read intervals from its profile."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import chi2
from scipy.stats import t as student

from gaelp.arrays import Bools, Floats
from gaelp.market.calibration.fitted import CONFIDENCE

__all__ = ["Likelihood", "Maximum", "few_units_drop", "maximise", "profile_interval"]

_DROP = float(chi2.ppf(CONFIDENCE, 1)) / 2  # log-likelihood a parameter may lose and stay inside its interval
_PLACE = 0.02  # precision of an interval's ends, on the parameter's own (log or logit) scale
_DIFFERENCE = 1e-3  # step of numerical derivatives
_GAIN = 1e-5  # log-likelihood not worth another step
_STEPS = 100
_LONGEST = 2.0

Likelihood = Callable[[Floats], float]
Bounds = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Maximum:
    """Where a log-likelihood is highest."""

    point: Floats
    value: float


def maximise(
    log_likelihood: Likelihood, start: Sequence[float] | Floats, bounds: Bounds, *, enough: float = math.inf
) -> Maximum:
    """The highest log-likelihood within bounds, climbing from `start` by damped Newton steps; stops at `enough`.

    Made for one to four parameters on log or logit scales, where numerical second derivatives are cheap.
    """
    low, high = np.array(bounds, float).T
    point = np.clip(np.asarray(start, float), low, high)
    value = log_likelihood(point)
    for _ in range(_STEPS):
        if value > enough:
            break
        slope, curvature = _derivatives(log_likelihood, point, value)
        stuck = (low == high) | ((point <= low) & (slope < 0)) | ((point >= high) & (slope > 0))
        for step in (_newton_step(slope, curvature, ~stuck), np.where(stuck, 0.0, slope)):
            better, gained = _climb(log_likelihood, point, value, _shortened(step), low, high)
            if gained > 0:
                break
        point, value = better, value + gained
        if gained < _GAIN:
            break
    return Maximum(point, value)


def _derivatives(log_likelihood: Likelihood, point: Floats, value: float) -> tuple[Floats, Floats]:
    size = len(point)
    shift = _DIFFERENCE * np.eye(size)
    above = np.array([log_likelihood(point + shift[i]) for i in range(size)])
    below = np.array([log_likelihood(point - shift[i]) for i in range(size)])
    curvature = np.diag((above + below - 2 * value) / _DIFFERENCE**2)
    for i, j in combinations(range(size), 2):
        both = log_likelihood(point + shift[i] + shift[j])
        curvature[i, j] = curvature[j, i] = (both - above[i] - above[j] + value) / _DIFFERENCE**2
    return (above - below) / (2 * _DIFFERENCE), curvature


def _newton_step(slope: Floats, curvature: Floats, free: Bools) -> Floats:
    """Uphill along the free parameters; where the surface is not a hill, downhill directions are mirrored."""
    step = np.zeros_like(slope)
    if free.any():
        values, vectors = np.linalg.eigh(-curvature[np.ix_(free, free)])
        steepness = np.maximum(np.abs(values), 1e-3 * max(float(np.abs(values).max()), 1e-6))
        step[free] = vectors @ ((vectors.T @ slope[free]) / steepness)
    return step


def _shortened(step: Floats) -> Floats:
    return step * min(1.0, _LONGEST / max(float(np.abs(step).max()), 1e-12))


def _climb(
    log_likelihood: Likelihood, point: Floats, value: float, step: Floats, low: Floats, high: Floats
) -> tuple[Floats, float]:
    """The longest of halved steps that gains, and the gain; the point itself and 0 where none does."""
    for _ in range(20):
        candidate = np.clip(point + step, low, high)
        gained = log_likelihood(candidate) - value
        if gained > 0:
            return candidate, gained
        step = step / 2
    return point, 0.0


def profile_interval(
    log_likelihood: Likelihood, maximum: Maximum, index: int, bounds: Bounds, *, drop: float = _DROP
) -> tuple[float, float]:
    """Values of one parameter that the data do not rule out at 95%, the others set to their best.

    `drop` is the log-likelihood that a value inside may lose; the default is right for many observations.
    """
    others = [i for i in range(len(bounds)) if i != index]
    rest_bounds = [bounds[i] for i in others]
    needed = maximum.value - drop
    start = maximum.point[others]

    def is_inside(value: float) -> bool:
        nonlocal start

        def rest_likelihood(point: Floats) -> float:
            return log_likelihood(np.insert(point, index, value))

        if not others:
            return rest_likelihood(start) > needed
        rest = maximise(rest_likelihood, start, rest_bounds, enough=needed)
        start = rest.point  # the next value asked for is close by
        return rest.value > needed

    centre = float(maximum.point[index])
    low, high = bounds[index]
    lower = _edge(is_inside, centre, low)
    start = maximum.point[others]
    return lower, _edge(is_inside, centre, high)


def few_units_drop(units: int) -> float:
    """The drop for a correlation or slope seen in few units: what Student's t with 2 parameters allows."""
    degrees = max(units - 2, 1)
    return units / 2 * math.log1p(float(student.ppf(0.5 + CONFIDENCE / 2, degrees)) ** 2 / degrees)


def _edge(is_inside: Callable[[float], bool], centre: float, bound: float) -> float:
    """Walk outwards in growing steps, then close in by halves; the bound itself where it is not ruled out."""
    step = 0.25 if bound > centre else -0.25
    near = centre
    while True:
        far = min(near + step, bound) if step > 0 else max(near + step, bound)
        if not is_inside(far):
            break
        if abs(far - bound) < _PLACE:
            return bound
        near, step = far, step * 2
    while abs(far - near) > _PLACE:
        middle = 0.5 * (near + far)
        near, far = (middle, far) if is_inside(middle) else (near, middle)
    return 0.5 * (near + far)
