"""Auction logs drawn from a known truth in plain numpy: the independent side of every test of calibration.

Nothing here comes from the market or from calibration, so an error in either cannot hide in the logs it is judged by.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Floats, Ints

__all__ = ["LogTruth", "draw_columns", "true_values"]

MONDAY_HOURS = 2000 * 168 + 96  # a Monday 00h, in hours since the epoch
_BID_OF_A_SURE_WIN = 10**8
_BID_LOG_SD = 0.5


@dataclass(frozen=True, slots=True)
class LogTruth:
    """What a log is drawn from; the names follow the market file."""

    segments: int = 12
    days: int = 7
    per_hour: float = 60.0
    volume_log_sd: float = 0.5
    overdispersion: float = 0.15
    level_micros: float = 2000.0
    price_log_sd: float = 0.4
    common_drift_sd: float = 0.1
    segment_drift_sd: float = 0.06
    persistence: float = 0.9
    noise_sd: float = 0.05
    diurnal: float = 0.2
    within_log_sd: float = 0.8  # of log prices around the hour's level, or around each mode
    mode_gap: float = 0.0  # distance of two modes in log price; 0: one mode
    dear_share: float = 0.4  # of auctions in the dearer mode
    click_rate: float = 0.02
    click_log_sd: float = 0.5
    correlation: float = 0.4
    daypart: float = 0.3
    conversion_rate: float = 0.1
    conversion_log_sd: float = 0.0
    immediate: float = 0.3
    delay_hours: float = 8.0
    bid_log_offset: float | None = None  # of the typical bid over the typical price; None: every auction is won

    @property
    def hours(self) -> int:
        """How many hours the log covers."""
        return self.days * 24


def true_values(truth: LogTruth) -> Mapping[str, float]:
    """The true value of each statistic, under its path in the market file."""
    day = np.arange(24)
    profile = _day_profile(day)
    return {
        "volume.per_hour": truth.per_hour,
        "volume.segment_log_sd": truth.volume_log_sd,
        "volume.overdispersion": truth.overdispersion,
        "hour_of_week": float(np.log(profile).std()),
        "response.click_rate": truth.click_rate * float((profile * np.exp(_click_wave(truth, day))).mean()),
        "response.click_log_sd": truth.click_log_sd,
        "response.conversion_rate": truth.conversion_rate,
        "response.conversion_log_sd": truth.conversion_log_sd,
        "response.daypart_amplitude": truth.daypart,
        "response.price_value_correlation": truth.correlation,
        "delay.mean_hours": truth.delay_hours,
        "delay.immediate_share": truth.immediate,
        "price.level_micros": truth.level_micros,
        "price.segment_log_sd": truth.price_log_sd,
        "price.common_drift_sd": truth.common_drift_sd,
        "price.common_drift_innovation_sd": truth.common_drift_sd * math.sqrt(1 - truth.persistence**2),
        "price.segment_drift_sd": truth.segment_drift_sd,
        "price.drift_persistence": truth.persistence,
        "price.hourly_noise_sd": truth.noise_sd,
        "price.diurnal_amplitude": truth.diurnal,
    }


def draw_columns(truth: LogTruth, seed: int) -> dict[str, np.ndarray]:
    """The columns of one log, one row an auction; an unknown price is -1, an unknown time NaN."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(3, truth.segments))
    level = _levels(truth, z[0], rng)
    count = _counts(truth, z[2], rng)
    segment, hour = (np.repeat(index.ravel(), count.ravel()) for index in np.indices(count.shape))
    rows = len(segment)
    log_price = level[segment, hour] + _around_level(truth, rows, rng)
    price = np.maximum(np.exp(log_price).round(), 1).astype(np.int64)
    bid = _bids(truth, rows, rng)
    won = price <= bid
    rho = truth.correlation
    rate = np.log(truth.click_rate) + truth.click_log_sd * (rho * z[0] + math.sqrt(1 - rho**2) * z[1])
    click = won & (rng.random(rows) < np.exp(rate[segment] + _click_wave(truth, hour)))
    time = MONDAY_HOURS + hour + rng.random(rows)
    delay = np.where(rng.random(rows) < truth.immediate, 0.0, rng.exponential(truth.delay_hours, rows))
    buys = rng.random(rows)
    rate_of_sales = truth.conversion_rate * np.exp(truth.conversion_log_sd * rng.normal(size=truth.segments))
    conversion = click & (buys < rate_of_sales[segment]) & (time + delay <= time.max())
    return {
        "time_hours": time,
        "segment": np.array([f"segment-{index:02d}" for index in range(truth.segments)])[segment],
        "bid_micros": bid,
        "price_micros": np.where(won, price, -1),
        "won": won,
        "click": click,
        "conversion": conversion,
        "conversion_time_hours": np.where(conversion, time + delay, np.nan),
    }


def _counts(truth: LogTruth, z: Floats, rng: np.random.Generator) -> Ints:
    """Auctions of each segment and hour, shape (S, T): Poisson around a gamma."""
    mean = truth.per_hour * np.exp(truth.volume_log_sd * z)[:, None] * _day_profile(np.arange(truth.hours))
    return rng.poisson(mean * rng.gamma(1 / truth.overdispersion, truth.overdispersion, mean.shape))


def _levels(truth: LogTruth, z: Floats, rng: np.random.Generator) -> Floats:
    """Log price level of each segment and hour, shape (S, T)."""
    wave = truth.diurnal * np.sin(2 * np.pi * (np.arange(truth.hours) - 7) / 24)
    level = math.log(truth.level_micros) + truth.price_log_sd * z[:, None] + wave
    level = level + _drift(truth, 1, truth.common_drift_sd, rng)
    level = level + _drift(truth, truth.segments, truth.segment_drift_sd, rng)
    return np.asarray(level + truth.noise_sd * rng.normal(size=level.shape))


def _drift(truth: LogTruth, chains: int, sd: float, rng: np.random.Generator) -> Floats:
    path = np.empty((chains, truth.hours))
    path[:, 0] = sd * rng.normal(size=chains)
    fresh = math.sqrt(1 - truth.persistence**2) * sd
    for hour in range(1, truth.hours):
        path[:, hour] = truth.persistence * path[:, hour - 1] + fresh * rng.normal(size=chains)
    return path


def _around_level(truth: LogTruth, rows: int, rng: np.random.Generator) -> Floats:
    """Log price over the hour's level, shape (n,), such that the mean price is the level."""
    dear = rng.random(rows) < truth.dear_share if truth.mode_gap else np.full(rows, truth.dear_share)
    mode = truth.mode_gap * (dear - truth.dear_share)
    middle = truth.dear_share * math.exp(truth.mode_gap * (1 - truth.dear_share))
    middle += (1 - truth.dear_share) * math.exp(-truth.mode_gap * truth.dear_share)
    centre = -math.log(middle) - truth.within_log_sd**2 / 2
    return np.asarray(centre + mode + truth.within_log_sd * rng.normal(size=rows))


def _bids(truth: LogTruth, rows: int, rng: np.random.Generator) -> Ints:
    if truth.bid_log_offset is None:
        return np.full(rows, _BID_OF_A_SURE_WIN)
    log_bid = math.log(truth.level_micros) + truth.bid_log_offset + _BID_LOG_SD * rng.normal(size=rows)
    return np.exp(log_bid).astype(np.int64)


def _click_wave(truth: LogTruth, hour: Ints) -> Floats:
    return np.asarray(truth.daypart * np.cos(2 * np.pi * (hour - 20) / 24))


def _day_profile(hour: Ints) -> Floats:
    return np.asarray(1 + 0.5 * np.sin(2 * np.pi * (hour - 9) / 24))
