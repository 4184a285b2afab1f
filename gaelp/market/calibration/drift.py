"""Drift and hourly noise in series with known sampling error, by restricted likelihood; gaps are allowed.

Each segment-hour is its segment's mean plus a daily wave, an AR(1) drift common to all segments, an AR(1) drift of the
segment's own with the same persistence, and noise. The mean over segments and the distances from it are two sets of
series with the same parameters, so their likelihoods are added.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve_banded, cholesky_banded

from gaelp.arrays import Floats
from gaelp.market.calibration.likelihood import Likelihood, Maximum, maximise, profile_interval

__all__ = ["DriftFit", "LevelSeries", "fit_drift"]

_LOG_SD = (math.log(1e-3), math.log(3.0))
# Up to a persistence of 0.995: drift with a half-life beyond six days looks like a trend.
_BOUNDS = ((-4.0, 5.293), _LOG_SD, _LOG_SD, _LOG_SD)
_FIRST_PERSISTENCE_LOGITS = (1.0, 3.5)
_NONE_AT_ALL = 1e-6  # this close to its lower bound, a deviation is 0

Ends = tuple[float, float, float]  # value and both ends of its interval


@dataclass(frozen=True, slots=True)
class LevelSeries:
    """R series of T hours, and which part of each variance they hold."""

    value: Floats  # (R, T)
    precision: Floats  # (R, T) of the value's sampling error; 0 where the hour is missing
    design: Floats  # (T, p), regressed out of each series by weights of its own
    common: bool  # whether the common drift is in it
    own_share: Floats  # (R,) of the variance of the segments' own drift
    noise_share: Floats  # (R, T) of the variance of hourly noise
    weight: float = 1.0  # independent values as a share of all


@dataclass(frozen=True, slots=True)
class DriftFit:
    """Persistence an hour, stationary deviations and hourly noise; and the regression of the first series."""

    persistence: Ends
    common_sd: Ends
    innovation_sd: Ends  # of the common drift, an hour
    own_sd: Ends
    noise_sd: Ends
    weights: Floats  # (R, p) of the regressors
    covariance: Floats  # (R, p, p)
    innovation_correlation: float  # of one hour's surprise with the next: 0 if the model holds


@dataclass(frozen=True, slots=True)
class _Scale:
    """One point of the search in plain units."""

    persistence: float
    common_sd: float
    own_sd: float
    noise_sd: float

    @classmethod
    def at(cls, point: Floats) -> "_Scale":
        return cls(_expit(point[0]), math.exp(point[1]), math.exp(point[2]), math.exp(point[3]))

    def variances(self, series: LevelSeries) -> tuple[Floats, Floats]:
        """Of drift (R,) and of hourly noise (R, T)."""
        drift = series.common * self.common_sd**2 + self.own_sd**2 * series.own_share
        return np.maximum(drift, 1e-9), self.noise_sd**2 * series.noise_share


def fit_drift(parts: Sequence[LevelSeries]) -> DriftFit:
    """Fit all parts with the same parameters; the first is the common one, whose regression is returned."""
    bounds = list(_BOUNDS)
    if not any(part.own_share.any() for part in parts):
        bounds[2] = (_LOG_SD[0], _LOG_SD[0])

    def likelihood(point: Floats) -> float:
        scale = _Scale.at(point)
        return sum(part.weight * _solve(part, scale)[0] for part in parts)

    start = math.log(max(_plain_sd(parts[0]), 2e-3))
    tries = [maximise(likelihood, (at, start, start, start - 0.7), bounds) for at in _FIRST_PERSISTENCE_LOGITS]
    best = max(tries, key=lambda maximum: maximum.value)
    _, weights, covariance = _solve(parts[0], _Scale.at(best.point))
    ends = [(best.point[index], *profile_interval(likelihood, best, index, bounds)) for index in range(4)]
    return DriftFit(
        persistence=_each(_expit, ends[0]),
        common_sd=_each(_sd, ends[1]),
        innovation_sd=_each(_sd, _innovation(likelihood, best, bounds)),
        own_sd=_each(_sd, ends[2]),
        noise_sd=_each(_sd, ends[3]),
        weights=weights,
        covariance=covariance,
        innovation_correlation=_innovation_correlation(parts[0], weights, _Scale.at(best.point)),
    )


def _innovation(likelihood: Likelihood, best: Maximum, bounds: Sequence[tuple[float, float]]) -> Ends:
    """Log of the common drift's fresh part an hour, with an interval that allows for unknown persistence."""

    def shifted(point: Floats, sign: float) -> Floats:
        moved = np.array(point, float)
        moved[1] += sign * 0.5 * math.log(1 - _expit(point[0]) ** 2)
        return moved

    def by_innovation(point: Floats) -> float:
        return likelihood(np.clip(shifted(point, -1.0), *np.array(bounds).T))

    centre = shifted(best.point, 1.0)
    lowest = bounds[1][0] - 2.5  # the innovation of the least drift at the highest persistence
    low, high = profile_interval(
        by_innovation, Maximum(centre, best.value), 1, [bounds[0], (lowest, bounds[1][1]), *bounds[2:]]
    )
    return float(centre[1]), low, high


def _solve(part: LevelSeries, scale: _Scale) -> tuple[float, Floats, Floats]:
    """Restricted log-likelihood (regression weights integrated out), their best values and their covariance.

    Covariance = drift + noise; the drift's inverse is tridiagonal, so Woodbury's identity makes this linear in T.
    """
    drift_variance, noise_variance = scale.variances(part)
    chain, chain_log_det = _chain(part.value.shape, scale.persistence, drift_variance)
    precision = part.precision.ravel()
    known = precision > 0
    weight = np.where(known, 1 / (1 / np.maximum(precision, 1e-12) + noise_variance.ravel()), 0.0)
    factor = cholesky_banded(chain + np.stack([np.zeros_like(weight), weight]), check_finite=False)
    value = np.where(known, part.value.ravel(), 0.0)[:, None]
    plain = np.concatenate([value, np.tile(part.design, (len(part.value), 1))], axis=1)
    block = plain * weight[:, None]
    inner = cho_solve_banded((factor, False), block, check_finite=False)
    apart = (*part.value.shape, plain.shape[1])
    gram = np.einsum("rti,rtj->rij", block.reshape(apart), (plain - inner).reshape(apart))
    log_det = 2 * float(np.log(factor[1]).sum()) - chain_log_det - float(np.log(weight[known]).sum())
    covariance = np.linalg.inv(gram[:, 1:, 1:])
    weights = np.einsum("rij,rj->ri", covariance, gram[:, 1:, 0])
    misfit = float(gram[:, 0, 0].sum() - (weights * gram[:, 1:, 0]).sum())
    log_likelihood = -0.5 * (log_det + misfit - float(np.linalg.slogdet(covariance)[1].sum()))
    return log_likelihood, weights, covariance


def _chain(shape: tuple[int, ...], persistence: float, variance: Floats) -> tuple[Floats, float]:
    """Inverse covariance of R independent AR(1) chains of T hours, laid end to end, and its log determinant.

    `variance` (R,) is stationary. The form is LAPACK's upper band, shape (2, R * T); chains do not touch, so the link
    before each is 0.
    """
    chains, hours = shape
    innovation = 1 - persistence**2
    diagonal = np.full(hours, (1 + persistence**2) / innovation)
    diagonal[[0, -1]] = 1 / innovation if hours > 1 else 1.0
    beside = np.full(hours, -persistence / innovation)
    beside[0] = 0.0
    log_det = -chains * (hours - 1) * math.log(innovation) - hours * float(np.log(variance).sum())
    return np.stack([np.outer(1 / variance, band).ravel() for band in (beside, diagonal)]), log_det


def _plain_sd(part: LevelSeries) -> float:
    value, precision = part.value, part.precision
    known = precision > 0
    centre = (value * precision).sum(axis=1, keepdims=True) / np.maximum(precision.sum(axis=1, keepdims=True), 1e-12)
    excess = (((value - centre) ** 2)[known]).mean() - (1 / precision[known]).mean()
    return math.sqrt(max(float(excess), 1e-5))


def _innovation_correlation(part: LevelSeries, weights: Floats, scale: _Scale) -> float:
    """Correlation of successive one-step surprises, from a Kalman filter run once per series."""
    persistence = scale.persistence
    drift_variance, noise_variance = scale.variances(part)
    residual = part.value - weights @ part.design.T
    pairs: list[tuple[float, float]] = []
    for values, known, noise, whole in zip(residual, part.precision, noise_variance, drift_variance, strict=True):
        state, variance, before = 0.0, float(whole), None
        for value, weight, hourly in zip(values.tolist(), known.tolist(), noise.tolist(), strict=True):
            surprise = None
            if weight > 0:
                total = variance + hourly + 1 / weight
                surprise = (value - state) / math.sqrt(total)
                gain = variance / total
                state, variance = state + gain * (value - state), variance * (1 - gain)
                if before is not None:
                    pairs.append((before, surprise))
            before = surprise
            state, variance = persistence * state, persistence**2 * variance + float(whole) * (1 - persistence**2)
    if len(pairs) < 3:
        return 0.0
    return float(np.corrcoef(np.array(pairs).T)[0, 1])


def _each(back: Callable[[float], float], ends: Ends) -> Ends:
    return back(ends[0]), back(ends[1]), back(ends[2])


def _sd(log_sd: float) -> float:
    """The lower bound of the search means none at all."""
    return 0.0 if log_sd <= _LOG_SD[0] + _NONE_AT_ALL else math.exp(log_sd)


def _expit(x: float) -> float:
    return 1 / (1 + math.exp(-x))
