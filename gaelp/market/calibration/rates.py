"""Click and conversion rates of segments drawn around one typical rate: log-normal between, binomial within."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm

from gaelp.arrays import Bools, Floats
from gaelp.market.calibration.fitted import CONFIDENCE, Fitted, TooLittle
from gaelp.market.calibration.likelihood import few_units_drop, maximise, profile_interval

__all__ = ["RateFit", "fit_correlation", "fit_rates"]

SEGMENTS_MIN = 5
SUCCESSES_MIN = 20
_NODES, _NODE_WEIGHTS = np.polynomial.hermite.hermgauss(11)
_LOG_RATE_MAX = -1e-3
_LOG_MEAN_BOUNDS = (math.log(1e-9), _LOG_RATE_MAX)
_LOG_SD_BOUNDS = (math.log(1e-3), math.log(5.0))
_CORRELATION_BOUND = 0.995


@dataclass(frozen=True, slots=True)
class RateFit:
    """The typical segment's rate, how much segments differ, and each segment's own rate as far as the data tell."""

    rate: Fitted
    log_sd: Fitted | TooLittle
    segment_rate: Floats  # (S,) posterior medians


def fit_rates(successes: Floats, trials: Floats, what: str) -> RateFit | TooLittle:
    """Fit rates of S segments; `what` names a success in the report. Trials may be fractional, see delay.py."""
    used = trials > 0
    total = int(successes.sum())
    if total < SUCCESSES_MIN:
        return TooLittle(observations=total, reason=f"{total} {what} seen, {SUCCESSES_MIN} needed")
    if not used.any():
        return TooLittle(observations=total, reason=f"{total} {what} seen, but no trial that is old enough to judge")
    if used.sum() < SEGMENTS_MIN:
        reason = f"{int(used.sum())} segments with trials seen, {SEGMENTS_MIN} needed for their spread"
        pooled = _pooled(successes[used], trials[used], what)
        rate = np.full(len(trials), pooled.value)
        return RateFit(pooled, TooLittle(observations=total, reason=reason), rate)
    return _hierarchical(successes, trials, used, what)


def fit_correlation(successes: Floats, trials: Floats, standardised: Floats, what: str) -> Fitted | TooLittle:
    """Correlation of log rates with a covariate of mean 0 and variance 1, net of the binomial noise of the rates."""
    total = int(successes.sum())
    if total < 2 * SUCCESSES_MIN or len(trials) < SEGMENTS_MIN or standardised.std() == 0:
        reason = f"{total} {what} in {len(trials)} units, {2 * SUCCESSES_MIN} in {SEGMENTS_MIN} that differ are needed"
        return TooLittle(observations=total, reason=reason)
    bounds = (_LOG_MEAN_BOUNDS, _LOG_SD_BOUNDS, (-_CORRELATION_BOUND, _CORRELATION_BOUND))

    def likelihood(point: Floats) -> float:
        sd = math.exp(point[1])
        centre = point[0] + sd * point[2] * standardised
        return float(_marginal(successes, trials, centre, sd * math.sqrt(1 - point[2] ** 2))[0].sum())

    starts = [maximise(likelihood, (math.log(total / trials.sum()), math.log(0.5), rho), bounds) for rho in (-0.3, 0.3)]
    best = max(starts, key=lambda maximum: maximum.value)
    # Where rates differ by chance alone, any correlation explains them: the likelihood is flat or peaks at an end.
    if _sd(profile_interval(likelihood, best, 1, bounds)[0]) == 0:
        reason = f"rates of {what} differ by no more than chance between {len(trials)} units"
        return TooLittle(observations=total, reason=reason)
    low, high = profile_interval(likelihood, best, 2, bounds, drop=few_units_drop(len(trials)))
    without = maximise(lambda point: likelihood(np.append(point, 0.0)), best.point[:2], bounds[:2])
    return Fitted(
        value=float(best.point[2]),
        interval_low=low,
        interval_high=high,
        observations=total,
        goodness=best.value - without.value,
        method=f"binomial-lognormal likelihood over {len(trials)} units; goodness: log-likelihood gained over no"
        " correlation, above 1.9 it is significant",
    )


def _pooled(successes: Floats, trials: Floats, what: str) -> Fitted:
    """One rate for all, with Wilson's interval."""
    total, n = float(successes.sum()), float(trials.sum())
    z = float(norm.ppf(0.5 + CONFIDENCE / 2))
    centre = (total + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * math.sqrt(max(total * (n - total) / n, 0.0) + z * z / 4)
    return Fitted(
        value=total / n,
        interval_low=max(centre - half, 0.0),
        interval_high=min(centre + half, 1.0),
        observations=int(total),
        goodness=_pearson(successes, trials, total / n, 0.0),
        method=f"pooled {what} over trials, Wilson interval; goodness: chi-square between segments per segment, near"
        " 1 is best",
    )


def _hierarchical(successes: Floats, trials: Floats, used: Bools, what: str) -> RateFit:
    k, n = successes[used], trials[used]
    bounds = (_LOG_MEAN_BOUNDS, _LOG_SD_BOUNDS)

    def likelihood(point: Floats) -> float:
        sd = math.exp(point[1])
        # Restricted: the mean is taken out of the scatter around it, which makes that of few segments look smaller.
        lost_with_mean = 0.5 * math.log(float((1 / (1 / (k + 0.5) + sd**2)).sum()))
        return float(_marginal(k, n, np.full(len(k), point[0]), sd)[0].sum()) - lost_with_mean

    best = maximise(likelihood, (math.log(k.sum() / n.sum()), math.log(0.5)), bounds)
    low, high = profile_interval(likelihood, best, 0, bounds)
    sd_low, sd_high = profile_interval(likelihood, best, 1, bounds)
    sd = math.exp(best.point[1])
    goodness = _pearson(k, n, math.exp(best.point[0]), sd)
    method = f"binomial-lognormal restricted likelihood of {what} over {len(k)} segments; goodness: Pearson chi-square"
    method += " per segment, near 1 is best"
    segment_rate = np.full(len(trials), math.exp(best.point[0]))
    segment_rate[used] = np.exp(_marginal(k, n, np.full(len(k), best.point[0]), sd)[1])
    return RateFit(
        rate=Fitted(
            value=math.exp(best.point[0]),
            interval_low=math.exp(low),
            interval_high=math.exp(high),
            observations=int(k.sum()),
            goodness=goodness,
            method=method,
        ),
        log_sd=Fitted(
            value=_sd(best.point[1]),
            interval_low=_sd(sd_low),
            interval_high=math.exp(sd_high),
            observations=int(k.sum()),
            goodness=goodness,
            method=method,
        ),
        segment_rate=segment_rate,
    )


def _sd(log_sd: float) -> float:
    """The lower bound of the search means no spread at all."""
    return 0.0 if log_sd <= _LOG_SD_BOUNDS[0] + 1e-6 else math.exp(log_sd)


def _pearson(successes: Floats, trials: Floats, median: float, log_sd: float) -> float:
    mean = median * math.exp(log_sd**2 / 2)
    variance = trials * mean * max(1 - mean, 1e-9) + (trials * mean) ** 2 * math.expm1(log_sd**2)
    return float(((successes - trials * mean) ** 2 / np.maximum(variance, 1e-12)).mean())


def _marginal(successes: Floats, trials: Floats, centre: Floats, sd: float) -> tuple[Floats, Floats]:
    """Log-likelihood of each segment with its rate integrated out, and the mode of that log rate.

    Gauss-Hermite nodes are placed around each segment's own mode, so segments with many successes stay exact.
    """
    failures = np.maximum(trials - successes, 0.0)
    mode, curvature = _mode(successes, failures, centre, sd)
    scale = np.sqrt(2 / curvature)
    eta = np.minimum(mode[:, None] + scale[:, None] * _NODES, _LOG_RATE_MAX)
    within = successes[:, None] * eta + failures[:, None] * np.log1p(-np.exp(eta))
    between = -0.5 * ((eta - centre[:, None]) / sd) ** 2 - math.log(sd * math.sqrt(2 * math.pi))
    integral = logsumexp(within + between + _NODES**2 + np.log(_NODE_WEIGHTS), axis=1)
    return np.asarray(integral + np.log(scale)), mode


def _mode(successes: Floats, failures: Floats, centre: Floats, sd: float) -> tuple[Floats, Floats]:
    """Most likely log rate by Newton's method, and the curvature there."""
    eta = np.minimum(centre, _LOG_RATE_MAX)
    for _ in range(30):
        odds = np.exp(eta) / -np.expm1(eta)
        slope = successes - failures * odds - (eta - centre) / sd**2
        curvature = failures * odds * (1 + odds) + 1 / sd**2
        step = np.clip(slope / curvature, -1.0, 1.0)
        eta = np.minimum(eta + step, _LOG_RATE_MAX)
        if np.abs(step).max() < 1e-9:
            break
    return eta, curvature
