"""Price levels of segments and their hours, how much segments differ, and whether dear ones are clicked more."""

import math
from dataclasses import dataclass, replace

import numpy as np

from gaelp.arrays import Bools, Floats, Ints
from gaelp.market.calibration.fitted import Fitted, TooLittle
from gaelp.market.calibration.log_frame import BidLog
from gaelp.market.calibration.price_levels import PriceLevels, log_prices, price_levels
from gaelp.market.calibration.price_shifts import HourlyPrices, shifted_levels
from gaelp.market.calibration.rates import fit_correlation
from gaelp.market.calibration.spread import spread_net_of_noise

__all__ = [
    "CORRELATED_SEGMENTS_MIN",
    "SegmentPrices",
    "correlate_levels",
    "fit_price_click_correlation",
    "fit_segment_prices",
    "segment_levels",
]

SEGMENTS_MIN = 5
CORRELATED_SEGMENTS_MIN = 8


@dataclass(frozen=True, slots=True)
class SegmentPrices:
    """Mean log price of each segment, and of each segment-hour."""

    level: Floats  # (S,) log micros
    precision: Floats  # (S,)
    hourly_level: Floats  # (S, T)
    hourly_precision: Floats  # (S, T), 0 where too few prices were seen
    log_sd: Fitted | TooLittle  # between segments


def fit_segment_prices(log: BidLog) -> SegmentPrices:
    """Levels by segment and hour, each segment with its own scatter."""
    value, known = log_prices(log)
    hours = len(log.covered_hours)
    segment = segment_levels(value, known, log.segment, log.segments)
    hourly = np.zeros((2, log.segments, hours))
    order = np.argsort(log.segment, kind="stable")
    ends = np.cumsum(np.bincount(log.segment, minlength=log.segments))
    hour = log.hour
    for index, rows in enumerate(np.split(order, ends[:-1])):
        levels = price_levels(value[rows], known[rows], hour[rows], hours)
        hourly[:, index] = levels.level, levels.precision
    log_bid = np.log(np.maximum(log.bid_micros, 1).astype(float))
    auctions = HourlyPrices(value, known, log_bid, log.segment, hour)
    hourly_level, hourly_precision = shifted_levels(auctions, hourly[0], hourly[1])
    total = hourly_precision.sum(axis=1)
    mean = (hourly_precision * hourly_level).sum(axis=1) / np.maximum(total, 1e-12)
    level = _filled(np.where(total > 0, mean, segment.level), segment.precision > 0)
    between = _between(level, segment.precision)
    return SegmentPrices(level, segment.precision, hourly_level, hourly_precision, between)


def segment_levels(log_value: Floats, known: Bools, segment: Ints, segments: int) -> PriceLevels:
    """Levels by segment; one whose price was hardly ever seen gets the level of the others."""
    levels = price_levels(log_value, known, segment, segments)
    return replace(levels, level=_filled(levels.level, levels.precision > 0))


def _filled(level: Floats, used: Bools) -> Floats:
    return np.where(used, level, level[used].mean() if used.any() else 0.0)


def _between(level: Floats, precision: Floats) -> Fitted | TooLittle:
    used = precision > 0
    if used.sum() < SEGMENTS_MIN:
        reason = f"{int(used.sum())} segments with prices seen, {SEGMENTS_MIN} needed for their spread"
        return TooLittle(observations=int(used.sum()), reason=reason)
    spread = spread_net_of_noise(level[used], 1 / precision[used])
    return Fitted(
        value=spread.sd,
        interval_low=spread.sd_low,
        interval_high=spread.sd_high,
        observations=int(used.sum()),
        goodness=spread.straightness,
        method="Paule-Mandel over mean log prices of segments (censored normal); goodness: correlation with normal"
        " quantiles, 1 is best",
    )


def fit_price_click_correlation(log: BidLog, prices: SegmentPrices) -> Fitted | TooLittle:
    """Correlation of log price level and log click rate between segments; between hours of day if these are few."""
    if log.click is None:
        return TooLittle(observations=0, reason="the log has no column click")
    used = prices.precision > 0
    if used.sum() >= CORRELATED_SEGMENTS_MIN:
        name, level, precision = "segments", prices.level, prices.precision
        shown, clicks = log.by_segment(log.won), log.by_segment(log.click)
    else:
        levels = price_levels(*log_prices(log), log.hour_of_day, 24)
        name, level, precision = "hours of day", levels.level, levels.precision
        shown, clicks = log.by_hour_of_day(log.won), log.by_hour_of_day(log.click)
    kept = (precision > 0) & (shown > 0)
    if kept.sum() < CORRELATED_SEGMENTS_MIN:
        reason = f"{int(kept.sum())} {name} with prices and impressions, {CORRELATED_SEGMENTS_MIN} needed"
        return TooLittle(observations=int(clicks.sum()), reason=reason)
    return correlate_levels(clicks[kept], shown[kept], level[kept], 1 / precision[kept], name)


def correlate_levels(clicks: Floats, shown: Floats, level: Floats, noise: Floats, name: str) -> Fitted | TooLittle:
    """Correlation of log levels, whose sampling variance is `noise`, with log click rates; `name` names the units."""
    spread = spread_net_of_noise(level, noise)
    reliability = spread.sd**2 / (spread.sd**2 + float(noise.mean()))
    if spread.sd_low == 0 or reliability < 0.2:
        reason = f"price levels of {name} differ by no more than their noise"
        return TooLittle(observations=int(clicks.sum()), reason=reason)
    raw = fit_correlation(clicks, shown, (level - level.mean()) / level.std(), "clicks")
    if isinstance(raw, TooLittle):
        return raw.model_copy(update={"reason": raw.reason.replace("units", name)})
    scale = 1 / math.sqrt(reliability)
    return raw.model_copy(
        update={
            "value": min(max(raw.value * scale, -1.0), 1.0),
            "interval_low": max(raw.interval_low * scale, -1.0),
            "interval_high": min(raw.interval_high * scale, 1.0),
            "method": raw.method.replace("units", name),
        }
    )
