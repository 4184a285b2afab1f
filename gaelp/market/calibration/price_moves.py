"""How price levels move in time: the daily wave, drift of all segments together and of each alone, hourly noise."""

from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Floats, Ints
from gaelp.market.calibration.drift import DriftFit, LevelSeries, fit_drift
from gaelp.market.calibration.fitted import Fitted, TooLittle
from gaelp.market.calibration.harmonic import Wave, amplitude_net_of_noise, day_wave
from gaelp.market.calibration.price_signals import SegmentPrices
from gaelp.market.number_text import counted
from gaelp.market.spec import RivalSpec

__all__ = ["PriceMoves", "fit_price_moves"]

HOURS_MIN = 48
RECENT_HOURS = 26 * 168
_CELLS_MAX = 20_000  # segment-hours in one likelihood


@dataclass(frozen=True, slots=True)
class PriceMoves:
    """Everything about prices in time."""

    common_drift_sd: Fitted | TooLittle
    segment_drift_sd: Fitted | TooLittle
    drift_persistence: Fitted | TooLittle
    innovation_sd: Fitted | TooLittle  # of the common drift, an hour
    hourly_noise_sd: Fitted | TooLittle
    diurnal_amplitude: Fitted | TooLittle
    peak_hour: float | None  # of the daily wave
    mean_log_rise: float  # of the mean price, by moves of the level: busy hours may be dear, and exp is convex


def fit_price_moves(covered_hours: Ints, prices: SegmentPrices, rivals: RivalSpec) -> PriceMoves:
    """Daily wave and drift of the hourly levels, of the last half year where the log is longer.

    The evening pause of rivals is taken out first: the market adds it to the wave.
    """
    recent = covered_hours > covered_hours[-1] - RECENT_HOURS
    covered, weight = covered_hours[recent], prices.hourly_precision[:, recent]
    moved = np.where(weight > 0, prices.hourly_level[:, recent] - prices.level[:, None], 0.0)
    total = weight.sum(axis=0)
    seen_hours = int((total > 0).sum())
    if seen_hours < HOURS_MIN:
        few = TooLittle(
            observations=seen_hours, reason=f"{counted(seen_hours, 'hour')} with prices seen, {HOURS_MIN} needed"
        )
        return PriceMoves(few, few, few, few, few, few, None, 0.0)
    hour = (covered % 24).astype(float)
    pause = -rivals.depth / (1 + np.exp(rivals.around_hour - hour))
    common = np.where(total > 0, (weight * moved).sum(axis=0) / np.maximum(total, 1e-12), 0.0) - pause
    timeline = covered - covered[0]
    own, own_share = _own_series(moved, weight, timeline)
    noise_share = np.ones_like(total) if own is None else own_share
    series = LevelSeries(
        value=_laid_out(common[None], timeline),
        precision=_laid_out(total[None], timeline),
        design=day_wave(np.arange(covered[0], covered[-1] + 1, dtype=float) % 24),
        common=True,
        own_share=np.full(1, 0.0 if own is None else float(own_share[total > 0].mean())),
        noise_share=_laid_out(noise_share[None], timeline),
    )
    drift = fit_drift([series] if own is None else [series, own])
    return _moves(drift, own is not None, common, total, hour)


def _laid_out(values: Floats, timeline: Ints) -> Floats:
    """Put covered hours where they belong in time, so that gaps stay gaps; shape (R, span)."""
    full = np.zeros((len(values), int(timeline[-1]) + 1))
    full[:, timeline] = values
    return full


def _own_series(moved: Floats, weight: Floats, timeline: Ints) -> tuple[LevelSeries | None, Floats]:
    """Distances of segments from the mean over segments; and the share (T,) of a segment's variance in that mean."""
    span = int(timeline[-1]) + 1
    all_part = weight / np.maximum(weight.sum(axis=0), 1e-12)
    in_mean = (all_part**2).sum(axis=0)
    enough = np.flatnonzero((weight > 0).sum(axis=1) >= HOURS_MIN)
    if len(enough) < 2:
        return None, in_mean
    strongest = enough[np.argsort(-weight[enough].sum(axis=1))][: max(_CELLS_MAX // span, 2)]
    moved, weight = moved[strongest], weight[strongest]
    total = weight.sum(axis=0)
    part = weight / np.maximum(total, 1e-12)
    # Sampling variance of a difference from a precision-weighted mean; alone in its hour, a segment says nothing.
    known = (weight > 0) & (part < 1 - 1e-9)
    variance = 1 / np.where(known, weight, 1.0) - 1 / np.maximum(total, 1e-12)
    precision = np.where(known, 1 / np.maximum(variance, 1e-12), 0.0)
    # The mean taken out holds a part of each segment: the more a segment weighs, the less of its moves is left.
    left = np.where(known, 1 - 2 * part + (part**2).sum(axis=0), 0.0)
    series = LevelSeries(
        value=_laid_out(np.where(known, moved - (part * moved).sum(axis=0), 0.0), timeline),
        precision=_laid_out(precision, timeline),
        design=np.ones((span, 1)),
        common=False,
        own_share=left.sum(axis=1) / np.maximum(known.sum(axis=1), 1),
        noise_share=_laid_out(left, timeline),
        weight=float((1 - part)[known].mean()) if known.any() else 1.0,
    )
    return (series if known.any() else None), in_mean


def _moves(drift: DriftFit, has_own: bool, common: Floats, total: Floats, hour: Floats) -> PriceMoves:
    hours = int((total > 0).sum())
    goodness = abs(drift.innovation_correlation)
    method = "restricted likelihood of AR(1) drift, noise and daily wave in hourly log levels; goodness: correlation"
    method += " of successive surprises, near 0 is best"
    wave = Wave(
        float(drift.weights[0, 1]),
        float(drift.weights[0, 2]),
        float(drift.covariance[0, 1, 1] + drift.covariance[0, 2, 2]) / 2,
    )
    alone = TooLittle(observations=hours, reason="fewer than 2 segments with prices in 48 hours")
    return PriceMoves(
        common_drift_sd=_statistic(drift.common_sd, hours, goodness, method),
        segment_drift_sd=_statistic(drift.own_sd, hours, goodness, method) if has_own else alone,
        drift_persistence=_statistic(drift.persistence, hours, goodness, method),
        innovation_sd=_statistic(drift.innovation_sd, hours, goodness, method),
        hourly_noise_sd=_statistic(drift.noise_sd, hours, goodness, method),
        diurnal_amplitude=_diurnal(wave, common, total, hour),
        peak_hour=wave.peak_hour,
        mean_log_rise=_mean_log_rise(drift, wave, total, hour),
    )


def _mean_log_rise(drift: DriftFit, wave: Wave, total: Floats, hour: Floats) -> float:
    shape = day_wave(hour)[:, 1:] @ np.array([wave.cosine, wave.sine])
    rise = float((total * np.exp(shape)).sum() / total.sum())
    spread = drift.common_sd[0] ** 2 + drift.own_sd[0] ** 2 + drift.noise_sd[0] ** 2
    return float(np.log(rise)) + spread / 2


def _statistic(ends: tuple[float, float, float], observations: int, goodness: float, method: str) -> Fitted:
    return Fitted(
        value=ends[0],
        interval_low=ends[1],
        interval_high=ends[2],
        observations=observations,
        goodness=goodness,
        method=method,
    )


def _diurnal(wave: Wave, common: Floats, total: Floats, hour: Floats) -> Fitted:
    centred = common - float((total * common).sum() / total.sum())
    shape = day_wave(hour)[:, 1:] @ np.array([wave.cosine, wave.sine])
    left = centred - shape
    left -= float((total * left).sum() / total.sum())
    explained = 1 - float((total * left**2).sum() / max((total * centred**2).sum(), 1e-12))
    return _statistic(
        amplitude_net_of_noise(wave),
        int((total > 0).sum()),
        explained,
        f"first daily harmonic of log price levels, noise removed, highest at {wave.peak_hour:.1f}h; goodness: share"
        " of the variance of hourly levels explained, 1 is best",
    )
