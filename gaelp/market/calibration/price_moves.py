"""How price levels move in time: the daily wave, drift of all segments together and of each alone, hourly noise."""

import math
from dataclasses import dataclass, replace

import numpy as np

from gaelp.arrays import Floats, Ints
from gaelp.market.calibration.drift import DriftFit, fit_drift
from gaelp.market.calibration.fitted import Fitted, TooLittle
from gaelp.market.calibration.harmonic import Wave, amplitude_net_of_noise, day_wave
from gaelp.market.calibration.log_frame import BidLog
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


def fit_price_moves(log: BidLog, prices: SegmentPrices, rivals: RivalSpec) -> PriceMoves:
    """Daily wave and drift of the hourly levels, of the last half year where the log is longer.

    The evening pause of rivals is taken out first: the market adds it to the wave.
    """
    recent = log.covered_hours > log.covered_hours[-1] - RECENT_HOURS
    covered, weight = log.covered_hours[recent], prices.hourly_precision[:, recent]
    moved = np.where(weight > 0, prices.hourly_level[:, recent] - prices.level[:, None], 0.0)
    total = weight.sum(axis=0)
    seen_hours = int((total > 0).sum())
    if seen_hours < HOURS_MIN:
        few = TooLittle(
            observations=seen_hours, reason=f"{counted(seen_hours, 'hour')} with prices seen, {HOURS_MIN} needed"
        )
        return PriceMoves(few, few, few, few, few, few, None)
    hour = (covered % 24).astype(float)
    pause = -rivals.depth / (1 + np.exp(rivals.around_hour - hour))
    common = np.where(total > 0, (weight * moved).sum(axis=0) / np.maximum(total, 1e-12), 0.0) - pause
    timeline = covered - covered[0]
    design = day_wave(np.arange(covered[0], covered[-1] + 1, dtype=float) % 24)
    drift = fit_drift(_laid_out(common[None], timeline), _laid_out(total[None], timeline), design)
    own, own_share = _segment_drift(moved, weight, timeline, drift.persistence[0])
    return _moves(drift, own, own_share, common, total, hour)


def _laid_out(values: Floats, timeline: Ints) -> Floats:
    """Put covered hours where they belong in time, so that gaps stay gaps; shape (R, span)."""
    full = np.zeros((len(values), int(timeline[-1]) + 1))
    full[:, timeline] = values
    return full


def _segment_drift(moved: Floats, weight: Floats, timeline: Ints, persistence: float) -> tuple[DriftFit | None, float]:
    """Drift of segments around the common one, and the share of it that the common series still holds."""
    span = int(timeline[-1]) + 1
    enough = np.flatnonzero((weight > 0).sum(axis=1) >= HOURS_MIN)
    if len(enough) < 2:
        return None, 0.0
    strongest = enough[np.argsort(-weight[enough].sum(axis=1))][: max(_CELLS_MAX // span, 2)]
    moved, weight = moved[strongest], weight[strongest]
    total = weight.sum(axis=0)
    part = weight / np.maximum(total, 1e-12)
    apart = moved - (part * moved).sum(axis=0)
    # Sampling variance of a difference from a precision-weighted mean; alone in its hour, a segment says nothing.
    known = (weight > 0) & (part < 1 - 1e-9)
    variance = 1 / np.where(known, weight, 1.0) - 1 / np.maximum(total, 1e-12)
    precision = np.where(known, 1 / np.maximum(variance, 1e-12), 0.0)
    drift = fit_drift(
        _laid_out(np.where(known, apart, 0.0), timeline),
        _laid_out(precision, timeline),
        np.ones((span, 1)),
        persistence=min(max(persistence, 0.02), 0.999),
    )
    return _unmixed(drift, part, precision), float((part**2).sum(axis=0)[total > 0].mean())


def _unmixed(drift: DriftFit, part: Floats, precision: Floats) -> DriftFit:
    """Undo that each series lost its own part of the mean taken out: the more a segment weighs, the more it lost."""
    left = 1 - 2 * part + (part**2).sum(axis=0)
    information = (1 / (1 / np.maximum(precision, 1e-12) + drift.noise_sd[0] ** 2 + drift.sd[0] ** 2)) ** 2
    scale = 1 / math.sqrt(float((information * left).sum() / information.sum()))
    return replace(drift, sd=_scaled(drift.sd, scale), noise_sd=_scaled(drift.noise_sd, scale))


def _scaled(ends: tuple[float, float, float], scale: float) -> tuple[float, float, float]:
    return ends[0] * scale, ends[1] * scale, ends[2] * scale


def _moves(
    drift: DriftFit, own: DriftFit | None, own_share: float, common: Floats, total: Floats, hour: Floats
) -> PriceMoves:
    hours = int((total > 0).sum())
    goodness = abs(drift.innovation_correlation)
    method = "restricted likelihood of AR(1) drift, noise and daily wave in hourly log levels; goodness: correlation"
    method += " of successive surprises, near 0 is best"
    wave = Wave(
        float(drift.weights[0, 1]),
        float(drift.weights[0, 2]),
        float(drift.covariance[0, 1, 1] + drift.covariance[0, 2, 2]) / 2,
    )
    segment: Fitted | TooLittle = TooLittle(observations=hours, reason="fewer than 2 segments with prices in 48 hours")
    noise, remaining = drift.noise_sd, (0.0, 0.0, 0.0)
    if own is not None:
        segment = _statistic(own.sd, hours, abs(own.innovation_correlation), method)
        noise = own.noise_sd
        remaining = (own_share * segment.value**2,) * 3
    sd = tuple(math.sqrt(max(end**2 - left, 0.0)) for end, left in zip(drift.sd, remaining, strict=True))
    kept = drift.persistence
    fresh = math.sqrt(1 - kept[0] ** 2)
    return PriceMoves(
        common_drift_sd=_statistic((sd[0], sd[1], sd[2]), hours, goodness, method),
        segment_drift_sd=segment,
        drift_persistence=_statistic(kept, hours, goodness, method),
        innovation_sd=_statistic((sd[0] * fresh, sd[1] * fresh, sd[2] * fresh), hours, goodness, method),
        hourly_noise_sd=_statistic(noise, hours, goodness, method),
        diurnal_amplitude=_diurnal(wave, common, total, hour),
        peak_hour=wave.peak_hour,
    )


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
