"""Volume by hour of week, pulled towards hour of day x weekday as far as the log is too short to tell more."""

import math
from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Bools, Floats, Ints
from gaelp.market.calibration.fitted import Fitted, TooLittle
from gaelp.market.calibration.spread import shrunk, spread_net_of_noise
from gaelp.market.number_text import counted

__all__ = ["HourFactors", "fit_hour_factors"]

HOURS_MIN = 36
HOURS_OF_DAY_MIN = 18
REPEATED_MIN = 84  # half of the week seen twice: only then can an hour's own habit be separated from chance
_UNSEEN_VARIANCE = 0.25**2  # how far a weekday the log never saw may be from the mean of those it saw
_FACTOR_MIN = 0.02
_Z = 1.959964
_ROUNDS = 50


@dataclass(frozen=True, slots=True)
class HourFactors:
    """168 factors with mean 1, Monday 00h first, and their intervals."""

    factor: Floats  # (168,)
    low: Floats  # (168,)
    high: Floats  # (168,)
    swing: Fitted  # standard deviation of the log factors
    parameters: float  # degrees of freedom the factors took from the data


@dataclass(frozen=True, slots=True)
class _Hours:
    """Hour totals and the cell of each; `day` and `hour` index weekday and hour of day."""

    count: Floats  # (T,)
    exposure: Floats  # (T,)
    cell: Ints  # (T,)

    @property
    def hour(self) -> Ints:
        return self.cell % 24

    @property
    def day(self) -> Ints:
        return self.cell // 24


@dataclass(frozen=True, slots=True)
class _Effects:
    """Effects of hours of day, weekdays or hours of week, pulled towards 1."""

    effect: Floats  # (groups,)
    variance: Floats  # (groups,) relative, of what remains unknown
    parameters: float  # degrees of freedom they are worth
    spread: tuple[float, float]  # interval of their standard deviation: it starts at 0 where chance may be all there is


def fit_hour_factors(count: Floats, exposure: Floats, hour_of_week: Ints) -> HourFactors | TooLittle:
    """Factors from the totals of T hours, each covered for `exposure` of an hour."""
    hours = _Hours(count, exposure, hour_of_week)
    distinct = len(np.unique(hours.hour))
    if len(count) < HOURS_MIN or distinct < HOURS_OF_DAY_MIN or count.sum() < len(count):
        reason = f"{counted(len(count), 'hour')} with {counted(int(count.sum()), 'auction')} over"
        reason += f" {counted(distinct, 'hour')} of day seen;"
        reason += f" {HOURS_MIN} hours, as many auctions and {HOURS_OF_DAY_MIN} hours of day needed"
        return TooLittle(observations=len(count), reason=reason)
    hour_effect, day_effect = _structure(hours)
    dispersion = _dispersion(hours, _mean(hours, hour_effect, day_effect), 30)
    by_hour = _pulled(hours, hours.hour, hour_effect, day_effect[hours.day], dispersion)
    by_day = _pulled(hours, hours.day, day_effect, by_hour.effect[hours.hour], dispersion)
    hour_effect = _bridged(by_hour.effect, np.bincount(hours.hour, minlength=24) > 0)
    plain = hour_effect[np.arange(168) % 24] * by_day.effect[np.arange(168) // 24]
    own = _own_habit(hours, plain, dispersion)
    factor = plain * own.effect
    factor /= factor.mean()
    variance = by_hour.variance[np.arange(168) % 24] + by_day.variance[np.arange(168) // 24] + own.variance
    return _result(hours, factor, variance, (by_hour, by_day, own))


def _mean(hours: _Hours, hour_effect: Floats, day_effect: Floats) -> Floats:
    shape = hours.exposure * hour_effect[hours.hour] * day_effect[hours.day]
    return np.asarray(shape * hours.count.sum() / shape.sum())


def _structure(hours: _Hours) -> tuple[Floats, Floats]:
    """Hour-of-day (24,) and weekday (7,) effects by iterative proportional fitting; 1 where a weekday is missing."""
    hour_effect, day_effect = np.ones(24), np.ones(7)
    for _ in range(_ROUNDS):
        hour_effect = _ratio(hours, hours.hour, hours.exposure * day_effect[hours.day], 24)
        day_effect = _ratio(hours, hours.day, hours.exposure * hour_effect[hours.hour], 7)
    return hour_effect, day_effect


def _ratio(hours: _Hours, group: Ints, expected: Floats, groups: int) -> Floats:
    total = np.bincount(group, hours.count, groups)
    wanted = np.bincount(group, expected, groups)
    effect = np.where(wanted > 0, total / np.maximum(wanted, 1e-12), np.nan)
    effect /= np.nanmean(effect)
    return np.nan_to_num(effect, nan=1.0)


def _dispersion(hours: _Hours, mean: Floats, parameters: int) -> float:
    """Variance of an hour's total around its mean, beyond Poisson, relative to the squared mean."""
    degrees = max(len(mean) - parameters, 1)
    return max(float(((hours.count - mean) ** 2 - mean).sum() / (mean**2).sum()) * len(mean) / degrees, 0.0)


def _pulled(hours: _Hours, group: Ints, effect: Floats, other: Floats, dispersion: float) -> _Effects:
    """Effects pulled towards 1 as far as they may be chance."""
    groups = len(effect)
    expected = np.bincount(group, hours.exposure * other, groups)
    expected *= hours.count.sum() / max(expected.sum(), 1e-12)
    repeats = np.bincount(group, minlength=groups)
    noise = np.where(repeats > 0, dispersion / np.maximum(repeats, 1) + 1 / np.maximum(expected, 1e-9), np.inf)
    pulled, variance, weight = shrunk(effect, noise, centre=1.0)
    variance = np.where(repeats > 0, variance, np.maximum(variance, _UNSEEN_VARIANCE))
    pulled = np.maximum(pulled, _FACTOR_MIN)
    parameters = max(float(weight.sum()) - 1, 0.0)
    return _Effects(pulled / pulled.mean(), variance / pulled**2, parameters, _spread(effect, noise))


def _spread(effect: Floats, noise: Floats) -> tuple[float, float]:
    """Interval of the standard deviation of effects that were seen with some noise; infinite where they were not."""
    known = np.isfinite(noise)
    if known.sum() < 2:
        return 0.0, 0.0
    spread = spread_net_of_noise(effect[known], np.maximum(noise[known], 1e-12))
    return spread.sd_low, spread.sd_high


def _bridged(effect: Floats, known: Bools) -> Floats:
    """An hour of day that was never seen lies between its neighbours, around the clock."""
    at = np.flatnonzero(known)
    around = np.concatenate([at - 24, at, at + 24])
    bridged = np.interp(np.arange(24), around, np.tile(effect[at], 3))
    return np.asarray(bridged / bridged.mean())


def _own_habit(hours: _Hours, plain: Floats, dispersion: float) -> _Effects:
    """What single hours of the week do beyond hour of day x weekday; weeks that repeat separate it from chance.

    Without repeats all of it may be chance or all of it habit: no factor is moved, the intervals allow for either.
    """
    repeats = np.bincount(hours.cell, minlength=168)
    if (repeats >= 2).sum() < REPEATED_MIN:
        return _Effects(np.ones(168), np.full(168, dispersion), 0.0, (0.0, 0.0))
    mean = hours.exposure * plain[hours.cell]
    mean *= hours.count.sum() / mean.sum()
    ratio = hours.count / mean
    centre = np.bincount(hours.cell, ratio, 168) / np.maximum(repeats, 1)
    repeated = repeats[hours.cell] >= 2
    degrees = float((repeats[repeats >= 2] - 1).sum())
    within = float(((ratio - centre[hours.cell])[repeated] ** 2).sum()) / degrees
    noise = np.where(repeats > 0, within / np.maximum(repeats, 1), np.inf)
    pulled, variance, weight = shrunk(centre, noise, centre=1.0)
    pulled = np.maximum(pulled, _FACTOR_MIN)
    return _Effects(pulled, variance / pulled**2, float(weight.sum()), _spread(centre, noise))


def _swing_error(log_factor: Floats, effects: tuple[_Effects, ...]) -> float:
    """Standard error of the factors' spread, times that spread: an hour of day's error is shared by all days.

    Counts vary in proportion to their mean, so the error of a small effect is not larger in its logarithm.
    """
    by_hour, by_day, own = effects
    week = log_factor.reshape(7, 24)
    squares = float((week.sum(axis=0) ** 2 * by_hour.variance * by_hour.effect**2).sum())
    squares += float((week.sum(axis=1) ** 2 * by_day.variance * by_day.effect**2).sum())
    return math.sqrt(squares + float((log_factor**2 * own.variance).sum())) / 168


def _result(hours: _Hours, factor: Floats, variance: Floats, effects: tuple[_Effects, ...]) -> HourFactors:
    mean = hours.exposure * factor[hours.cell]
    mean *= hours.count.sum() / mean.sum()
    flat = hours.exposure * hours.count.sum() / hours.exposure.sum()
    explained = 1 - float(((hours.count - mean) ** 2).sum() / max(((hours.count - flat) ** 2).sum(), 1e-12))
    half = _Z * np.sqrt(variance)
    log_factor = np.log(factor)
    sd = float(log_factor.std())
    error = _swing_error(log_factor - log_factor.mean(), effects) / max(sd, 1e-9)
    low, high = max(sd - _Z * error, 0.0), sd + _Z * error
    if not any(part.spread[0] for part in effects):
        low, high = 0.0, max(high, math.hypot(*(part.spread[1] for part in effects)))
    swing = Fitted(
        value=sd,
        interval_low=low,
        interval_high=high,
        observations=len(hours.count),
        goodness=explained,
        method="hour of week shrunk towards hour of day x weekday; value: standard deviation of the log factors;"
        " goodness: share of the variance of hour totals explained, 1 is best",
    )
    return HourFactors(
        factor, factor * np.exp(-half), factor * np.exp(half), swing, sum(part.parameters for part in effects)
    )
