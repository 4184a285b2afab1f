"""AR(1) drift plus hourly noise in series with known sampling error, by restricted likelihood; gaps are allowed."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve_banded, cholesky_banded

from gaelp.arrays import Floats
from gaelp.market.calibration.likelihood import maximise, profile_interval

__all__ = ["DriftFit", "fit_drift"]

# Up to a persistence of 0.995: drift with a half-life beyond six days looks like a trend.
_BOUNDS = ((-4.0, 5.293), (math.log(1e-3), math.log(3.0)), (math.log(1e-3), math.log(3.0)))


@dataclass(frozen=True, slots=True)
class DriftFit:
    """Persistence an hour, stationary deviation and hourly noise, each (value, low, high); and the regression."""

    persistence: tuple[float, float, float]
    sd: tuple[float, float, float]
    noise_sd: tuple[float, float, float]
    weights: Floats  # (R, p) of the regressors
    covariance: Floats  # (R, p, p)
    innovation_correlation: float  # of one hour's surprise with the next: 0 if the model holds


def fit_drift(series: Floats, precision: Floats, design: Floats, *, persistence: float | None = None) -> DriftFit:
    """Fit R series (R, T) that share parameters; precision (R, T) of each value, 0 where it is missing.

    `design` (T, p) is regressed out of each series by weights of its own. A given `persistence` is kept fixed.
    """
    bounds = list(_BOUNDS)
    if persistence is not None:
        fixed = _logit(persistence)
        bounds[0] = (fixed, fixed)

    def likelihood(point: Floats) -> float:
        return _solve(series, precision, design, point)[0]

    start_sd = math.log(max(_plain_sd(series, precision), 2e-3))
    starts = [maximise(likelihood, (at, start_sd, start_sd - 0.7), bounds) for at in (1.0, 3.5)]
    best = max(starts, key=lambda maximum: maximum.value)
    _, weights, covariance = _solve(series, precision, design, best.point)
    ranges = [profile_interval(likelihood, best, index, bounds) for index in range(3)]
    return DriftFit(
        persistence=(_expit(best.point[0]), _expit(ranges[0][0]), _expit(ranges[0][1])),
        sd=(_sd(best.point[1]), _sd(ranges[1][0]), _sd(ranges[1][1])),
        noise_sd=(_sd(best.point[2]), _sd(ranges[2][0]), _sd(ranges[2][1])),
        weights=weights,
        covariance=covariance,
        innovation_correlation=_innovation_correlation(series - weights @ design.T, precision, best.point),
    )


def _solve(series: Floats, precision: Floats, columns: Floats, point: Floats) -> tuple[float, Floats, Floats]:
    """Restricted log-likelihood (regression weights integrated out), their best values and their covariance.

    Covariance = drift + noise; the drift's inverse is tridiagonal, so Woodbury's identity makes this linear in T.
    """
    persistence, sd, noise_sd = _expit(point[0]), math.exp(point[1]), math.exp(point[2])
    chain, chain_log_det = _chain(series.shape, persistence, sd)
    known = precision.ravel() > 0
    weight = np.where(known, 1 / (1 / np.maximum(precision.ravel(), 1e-12) + noise_sd**2), 0.0)
    factor = cholesky_banded(chain + np.stack([np.zeros_like(weight), weight]), check_finite=False)
    plain = np.concatenate([np.where(known, series.ravel(), 0.0)[:, None], np.tile(columns, (len(series), 1))], axis=1)
    block = plain * weight[:, None]
    inner = cho_solve_banded((factor, False), block, check_finite=False)
    apart = (*series.shape, plain.shape[1])
    left, right = block.reshape(apart), (plain - inner).reshape(apart)
    gram = np.einsum("rti,rtj->rij", left, right)
    log_det = 2 * float(np.log(factor[1]).sum()) - chain_log_det - float(np.log(weight[known]).sum())
    covariance = np.linalg.inv(gram[:, 1:, 1:])
    weights = np.einsum("rij,rj->ri", covariance, gram[:, 1:, 0])
    misfit = float(gram[:, 0, 0].sum() - (weights * gram[:, 1:, 0]).sum())
    log_likelihood = -0.5 * (log_det + misfit - float(np.linalg.slogdet(covariance)[1].sum()))
    return log_likelihood, weights, covariance


def _chain(shape: tuple[int, ...], persistence: float, sd: float) -> tuple[Floats, float]:
    """Inverse covariance of R independent AR(1) chains of T hours, laid end to end, and its log determinant.

    The form is LAPACK's upper band, shape (2, R * T); chains do not touch, so the link before each is 0.
    """
    chains, hours = shape
    innovation = sd**2 * (1 - persistence**2)
    diagonal = np.full(hours, (1 + persistence**2) / innovation)
    diagonal[[0, -1]] = 1 / innovation if hours > 1 else 1 / sd**2
    beside = np.full(hours, -persistence / innovation)
    beside[0] = 0.0
    log_det = -chains * ((hours - 1) * math.log(innovation) + 2 * math.log(sd))
    return np.stack([np.tile(beside, chains), np.tile(diagonal, chains)]), log_det


def _plain_sd(series: Floats, precision: Floats) -> float:
    known = precision > 0
    centre = (series * precision).sum(axis=1, keepdims=True) / np.maximum(precision.sum(axis=1, keepdims=True), 1e-12)
    excess = (((series - centre) ** 2)[known]).mean() - (1 / precision[known]).mean()
    return math.sqrt(max(float(excess), 1e-5))


def _innovation_correlation(residual: Floats, precision: Floats, point: Floats) -> float:
    """Correlation of successive one-step surprises, from a Kalman filter run once per series."""
    persistence, sd, noise_sd = _expit(point[0]), math.exp(point[1]), math.exp(point[2])
    pairs: list[tuple[float, float]] = []
    for values, known in zip(residual, precision, strict=True):
        state, variance, before = 0.0, sd**2, None
        for value, weight in zip(values.tolist(), known.tolist(), strict=True):
            surprise = None
            if weight > 0:
                total = variance + noise_sd**2 + 1 / weight
                surprise = (value - state) / math.sqrt(total)
                gain = variance / total
                state, variance = state + gain * (value - state), variance * (1 - gain)
                if before is not None:
                    pairs.append((before, surprise))
            before = surprise
            state, variance = persistence * state, persistence**2 * variance + sd**2 * (1 - persistence**2)
    if len(pairs) < 3:
        return 0.0
    return float(np.corrcoef(np.array(pairs).T)[0, 1])


def _sd(log_sd: float) -> float:
    """The lower bound of the search means none at all."""
    return 0.0 if log_sd <= _BOUNDS[1][0] + 1e-6 else math.exp(log_sd)


def _expit(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def _logit(p: float) -> float:
    return math.log(p / (1 - p))
