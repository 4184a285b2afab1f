"""Volume: opportunities an hour, how segments differ, and how wildly an hour departs from its mean."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.stats import kstest, nbinom

from gaelp.arrays import Floats
from gaelp.market.calibration.fitted import Fitted, TooLittle
from gaelp.market.calibration.log_frame import BidLog
from gaelp.market.calibration.seasonality import HourFactors, fit_hour_factors
from gaelp.market.calibration.spread import spread_net_of_noise
from gaelp.market.number_text import counted

__all__ = ["VolumeFit", "fit_overdispersion", "fit_volume", "hour_counts"]

SEGMENTS_MIN = 5
HOURS_MIN = 24
_DISPERSION_MAX = 100.0
_Z = 1.959964


@dataclass(frozen=True, slots=True)
class VolumeFit:
    """Statistics of volume and what is needed to predict an hour."""

    per_hour: Fitted | TooLittle
    segment_log_sd: Fitted | TooLittle
    overdispersion: Fitted | TooLittle
    factors: HourFactors | TooLittle
    segment_per_hour: Floats  # (S,) in an hour of average activity


def hour_counts(log: BidLog) -> Floats:
    """Auctions by segment and covered hour, shape (S, T)."""
    hours = len(log.covered_hours)
    flat = np.bincount(log.segment * hours + log.hour, minlength=log.segments * hours)
    return flat.reshape(log.segments, hours).astype(float)


def fit_volume(log: BidLog) -> VolumeFit:
    """Fit volume by segment and hour; a log of less than a day says nothing about hours."""
    counts = hour_counts(log)
    factors = fit_hour_factors(counts.sum(axis=0), log.covered_share, log.hour_of_week)
    factor = np.ones(168) if isinstance(factors, TooLittle) else factors.factor
    exposure = log.covered_share * factor[log.hour_of_week]
    segment_per_hour = counts.sum(axis=1) / exposure.sum()
    mean = segment_per_hour[:, None] * exposure
    if len(exposure) < HOURS_MIN:
        short = TooLittle(
            observations=len(exposure),
            reason=f"{counted(len(exposure), 'hour')} covered, {HOURS_MIN} needed for volumes",
        )
        return VolumeFit(short, short, short, factors, segment_per_hour)
    fitted_parameters = 0.0 if isinstance(factors, TooLittle) else factors.parameters
    overdispersion = fit_overdispersion(counts, mean, fitted_parameters)
    per_hour, segment_log_sd = _fit_levels(counts, mean, segment_per_hour, overdispersion.value)
    return VolumeFit(per_hour, segment_log_sd, overdispersion, factors, segment_per_hour)


def fit_overdispersion(counts: Floats, mean: Floats, profile_parameters: float) -> Fitted:
    """Method of moments: the dispersion at which Pearson's chi-square meets its degrees of freedom."""
    kept = mean > 0
    degrees = float(kept.sum() - (mean.sum(axis=1) > 0).sum() - profile_parameters)

    def pearson(dispersion: float) -> Floats:
        part = np.where(kept, (counts - mean) ** 2 / np.maximum(mean + dispersion * mean**2, 1e-12), 0.0)
        return np.asarray(part.sum(axis=0))

    def solve(target: float) -> float:
        if pearson(0.0).sum() <= target:
            return 0.0
        if pearson(_DISPERSION_MAX).sum() >= target:
            return _DISPERSION_MAX
        return float(brentq(lambda dispersion: pearson(dispersion).sum() - target, 0.0, _DISPERSION_MAX))

    value = solve(degrees)
    by_hour = pearson(value)
    # Hours, not cells, are taken as independent: a shock may hit all segments of an hour.
    noise = math.sqrt(float(((by_hour - by_hour.mean()) ** 2).sum()))
    return Fitted(
        value=value,
        interval_low=solve(degrees + _Z * noise),
        interval_high=solve(degrees - _Z * noise),
        observations=int(kept.sum()),
        goodness=_quantile_distance(counts[kept], mean[kept], value),
        method="negative binomial by moments (Pearson) over segment-hours; goodness: Kolmogorov-Smirnov distance of"
        " the counts' quantiles, near 0 is best",
    )


def _quantile_distance(count: Floats, mean: Floats, dispersion: float) -> float:
    shape = 1 / max(dispersion, 1e-6)
    chance = shape / (shape + mean)
    middle = 0.5 * (nbinom.cdf(count, shape, chance) + nbinom.cdf(count - 1, shape, chance))
    return float(kstest(middle, "uniform").statistic)


def _fit_levels(
    counts: Floats, mean: Floats, segment_per_hour: Floats, dispersion: float
) -> tuple[Fitted, Fitted | TooLittle]:
    used = counts.sum(axis=1) > 0
    total, hours = counts[used].sum(axis=1), counts.shape[1]
    noise = 1 / total + dispersion * (mean[used] ** 2).sum(axis=1) / mean[used].sum(axis=1) ** 2
    explained = 1 - float(((counts - mean) ** 2).sum() / max(((counts - counts.mean()) ** 2).sum(), 1e-12))
    if used.sum() < SEGMENTS_MIN:
        level, half = float(segment_per_hour[used].mean()), _Z * math.sqrt(float(noise.mean() / used.sum()))
        reason = f"{int(used.sum())} segments seen, {SEGMENTS_MIN} needed for their spread"
        spread: Fitted | TooLittle = TooLittle(observations=int(used.sum()), reason=reason)
        method = "mean volume of a segment"
    else:
        between = spread_net_of_noise(np.log(segment_per_hour[used]), noise)
        level, half = math.exp(between.mean), between.mean_half_width
        spread = Fitted(
            value=between.sd,
            interval_low=between.sd_low,
            interval_high=between.sd_high,
            observations=int(used.sum()),
            goodness=between.straightness,
            method="Paule-Mandel over log volumes of segments; goodness: correlation with normal quantiles, 1 is best",
        )
        method = "volume of the typical (median) segment"
    per_hour = Fitted(
        value=level,
        interval_low=level * math.exp(-half),
        interval_high=level * math.exp(half),
        observations=hours,
        goodness=explained,
        method=method + "; goodness: share of the variance of segment-hours explained, 1 is best",
    )
    return per_hour, spread
