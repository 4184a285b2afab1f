"""How late conversions are reported: a share at once, the rest exponential, cut off by the end of the log."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit
from scipy.stats import kstest

from gaelp.arrays import Bools, Floats
from gaelp.market.calibration.evidence import weighed
from gaelp.market.calibration.fitted import Fitted, TooLittle
from gaelp.market.calibration.likelihood import Likelihood, Maximum, maximise, profile_interval
from gaelp.market.calibration.log_frame import BidLog
from gaelp.market.delay_families import delay_parts
from gaelp.market.spec import DelaySpec

__all__ = ["DelayFit", "fit_delay", "fit_reported_delay", "matured_share"]

AT_ONCE_HOURS = 1 / 60
DELAYED_MIN = 20
_AGE_CELL_HOURS = 0.25
_BOUNDS = ((-12.0, 12.0), (math.log(AT_ONCE_HOURS), math.log(2000.0)), (-20.0, 12.0))


@dataclass(frozen=True, slots=True)
class DelayFit:
    """Both statistics and the delay the market gets, with which conversion rates are corrected."""

    mean_hours: Fitted | TooLittle
    immediate_share: Fitted | TooLittle
    used: DelaySpec


@dataclass(frozen=True, slots=True)
class _Clicks:
    """Clicks sorted by what became of them; ages are capped at the window."""

    at_once: int
    delay_hours: Floats  # (n,) of later conversions
    delay_age_hours: Floats  # (n,) how long each of these was watched
    waiting: Floats  # (cells,) clicks without conversion
    waiting_age_hours: Floats  # (cells,)
    too_late: int  # conversions after the window, which the market would not attribute


def fit_delay(log: BidLog, base: DelaySpec) -> DelayFit:
    """Maximum likelihood over clicks; those without a conversion count for as long as the log watched them."""
    if log.click is None or log.conversion is None or log.delay_hours is None:
        nothing = TooLittle(observations=0, reason="the log has no conversion_time")
        return DelayFit(nothing, nothing, base)
    clicks = _sorted_clicks(log, log.click, log.delay_hours, base.window_hours)
    few = _too_few(clicks)
    return _fit(clicks, base) if few is None else DelayFit(few, few, base)


def fit_reported_delay(
    delay_hours: Floats, age_hours: Floats, waiting: Floats, waiting_age_hours: Floats, base: DelaySpec
) -> DelayFit:
    """The same from reports: conversions with delay and age of their click, and counts of the clicks without one."""
    window = base.window_hours
    inside = delay_hours <= window
    later = inside & (delay_hours > AT_ONCE_HOURS)
    clicks = _Clicks(
        at_once=int((inside & ~later).sum()),
        delay_hours=delay_hours[later],
        delay_age_hours=np.minimum(age_hours[later], window),
        waiting=waiting,
        waiting_age_hours=np.minimum(waiting_age_hours, window),
        too_late=int((~inside).sum()),
    )
    few = _too_few(clicks)
    return _fit(clicks, base) if few is None else DelayFit(few, few, base)


def matured_share(delay: DelaySpec, age_hours: Floats) -> Floats:
    """Share of a click's conversions reported by a given age; what comes after the window never is."""
    age = np.clip(age_hours, 0.0, delay.window_hours)
    if delay.mean_hours == 0:
        return np.ones_like(age)
    parts = delay_parts(delay)
    open_share = np.exp(-age[..., None] / (delay.mean_hours * parts.length)) @ parts.share
    return np.asarray(1 - (1 - delay.immediate_share) * open_share)


def _too_few(clicks: _Clicks) -> TooLittle | None:
    later = len(clicks.delay_hours)
    if later >= DELAYED_MIN:
        return None
    return TooLittle(observations=later, reason=f"{later} conversions came later than a minute, {DELAYED_MIN} needed")


def _sorted_clicks(log: BidLog, click: Bools, delay_hours: Floats, window_hours: int) -> _Clicks:
    age = np.minimum(log.end_hours - log.time_hours[click], window_hours)
    delay = delay_hours[click]
    converted = delay <= window_hours
    later = converted & (delay > AT_ONCE_HOURS)
    cell = np.floor(age[~converted] / _AGE_CELL_HOURS).astype(np.int64)
    waiting = np.bincount(cell).astype(float)
    return _Clicks(
        at_once=int((converted & ~later).sum()),
        delay_hours=delay[later],
        delay_age_hours=age[later],
        waiting=waiting,
        waiting_age_hours=np.minimum((np.arange(len(waiting)) + 0.5) * _AGE_CELL_HOURS, window_hours),
        too_late=int((delay > window_hours).sum()),
    )


def _fit(clicks: _Clicks, base: DelaySpec) -> DelayFit:
    likelihood = _likelihood(clicks)
    later = len(clicks.delay_hours)
    conversions = later + clicks.at_once
    start = (
        float(logit((clicks.at_once + 0.5) / (conversions + 1))),
        math.log(clicks.delay_hours.mean()),
        float(logit((conversions + 0.5) / (conversions + clicks.waiting.sum() + 1))),
    )
    best = maximise(likelihood, start, _BOUNDS)
    share, mean = float(expit(best.point[0])), math.exp(best.point[1])
    # The share at its lower bound means none at once; a logit cannot say 0.
    share = 0.0 if best.point[0] <= _BOUNDS[0][0] + 1e-6 else share
    mean_hours = weighed("delay.mean_hours", _statistic(likelihood, best, 1, mean, clicks), base.mean_hours)
    at_once = _statistic(likelihood, best, 0, share, clicks)
    immediate_share = weighed("delay.immediate_share", at_once, base.immediate_share)
    used = DelaySpec(
        mean_hours=mean_hours.value if isinstance(mean_hours, Fitted) else base.mean_hours,
        immediate_share=immediate_share.value if isinstance(immediate_share, Fitted) else base.immediate_share,
        window_hours=base.window_hours,
    )
    return DelayFit(mean_hours, immediate_share, used)


def _likelihood(clicks: _Clicks) -> Likelihood:
    later_sum, later = float(clicks.delay_hours.sum()), len(clicks.delay_hours)

    def value(point: Floats) -> float:
        share, mean, rate = float(expit(point[0])), math.exp(point[1]), float(expit(point[2]))
        at_once = 1 - (1 - share) * math.exp(-AT_ONCE_HOURS / mean)
        reported = 1 - (1 - share) * np.exp(-clicks.waiting_age_hours / mean)
        log_likelihood = clicks.at_once * math.log(rate * at_once)
        log_likelihood += later * math.log(rate * (1 - share) / mean) - later_sum / mean
        return log_likelihood + float((clicks.waiting * np.log1p(-rate * reported)).sum())

    return value


def _statistic(likelihood: Likelihood, best: Maximum, index: int, value: float, clicks: _Clicks) -> Fitted:
    low, high = profile_interval(likelihood, best, index, _BOUNDS)
    back = expit if index == 0 else np.exp
    method = "censored likelihood of a share at once and exponential delays"
    if clicks.too_late:
        method += f", {clicks.too_late} conversions after the window counted as unseen"
    return Fitted(
        value=value,
        interval_low=0.0 if index == 0 and low <= _BOUNDS[0][0] else float(back(low)),
        interval_high=float(back(high)),
        observations=len(clicks.delay_hours) + (clicks.at_once if index == 0 else 0),
        goodness=_distance(clicks, math.exp(best.point[1])),
        method=method + "; goodness: Kolmogorov-Smirnov distance of the later delays, near 0 is best",
    )


def _distance(clicks: _Clicks, mean: float) -> float:
    """Delays as quantiles of what could have been seen; uniform if the model holds."""
    start = math.exp(-AT_ONCE_HOURS / mean)
    reached = start - np.exp(-clicks.delay_hours / mean)
    possible = start - np.exp(-np.maximum(clicks.delay_age_hours, clicks.delay_hours) / mean)
    return float(kstest(reached / possible, "uniform").statistic)
