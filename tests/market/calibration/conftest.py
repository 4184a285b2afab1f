"""Logs drawn from a known truth, for the tests of calibration."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from gaelp.market.calibration import BidLog, Calibration, calibrate
from gaelp.market.calibration.log_frame import make_log
from gaelp.market.spec import MarketSpec

MONDAY_HOURS = 2000 * 168 + 96  # a Monday 00h, in hours since the epoch


@dataclass(frozen=True)
class Truth:
    """What a simulated log is drawn from; the names follow the market file."""

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
    within_log_sd: float = 0.8
    click_rate: float = 0.02
    click_log_sd: float = 0.5
    correlation: float = 0.4
    daypart: float = 0.3
    conversion_rate: float = 0.1
    immediate: float = 0.3
    delay_hours: float = 8.0
    bid_log_offset: float | None = None  # None: every auction is won

    @property
    def hours(self) -> int:
        return self.days * 24


def drifting(rng: np.random.Generator, truth: Truth, chains: int, sd: float) -> np.ndarray:
    path = np.empty((chains, truth.hours))
    path[:, 0] = sd * rng.normal(size=chains)
    fresh = np.sqrt(1 - truth.persistence**2) * sd
    for hour in range(1, truth.hours):
        path[:, hour] = truth.persistence * path[:, hour - 1] + fresh * rng.normal(size=chains)
    return path


def draw_log(truth: Truth, seed: int) -> BidLog:
    """One log, drawn the way the market draws its hours."""
    rng = np.random.default_rng(seed)
    hour = np.arange(truth.hours)
    z = rng.normal(size=(3, truth.segments))
    level = np.log(truth.level_micros) + truth.price_log_sd * z[0][:, None]
    level = level + drifting(rng, truth, 1, truth.common_drift_sd)
    level = level + drifting(rng, truth, truth.segments, truth.segment_drift_sd)
    level += truth.noise_sd * rng.normal(size=level.shape) + truth.diurnal * np.sin(2 * np.pi * (hour - 7) / 24)
    rho = truth.correlation
    rate = np.log(truth.click_rate) + truth.click_log_sd * (rho * z[0] + np.sqrt(1 - rho**2) * z[1])
    volume = truth.per_hour * np.exp(truth.volume_log_sd * z[2])[:, None] * day_profile(hour)
    wild = rng.gamma(1 / truth.overdispersion, truth.overdispersion, volume.shape)
    count = rng.poisson(volume * wild)
    segment, at = (np.repeat(index.ravel(), count.ravel()) for index in np.indices(count.shape))
    rows = len(segment)
    # The market scales landscapes to a mean price of one level.
    price = np.exp(level[segment, at] - truth.within_log_sd**2 / 2 + truth.within_log_sd * rng.normal(size=rows))
    price = np.maximum(price.round(), 1).astype(np.int64)
    bid = np.full(rows, 10**8)
    if truth.bid_log_offset is not None:
        bid = np.exp(np.log(truth.level_micros) + truth.bid_log_offset + 0.5 * rng.normal(size=rows)).astype(np.int64)
    won = price <= bid
    wave = truth.daypart * np.cos(2 * np.pi * (at - 20) / 24)
    click = won & (rng.random(rows) < np.exp(rate[segment] + wave))
    time = MONDAY_HOURS + at + rng.random(rows)
    delay = np.where(rng.random(rows) < truth.immediate, 0.0, rng.exponential(truth.delay_hours, rows))
    conversion = click & (rng.random(rows) < truth.conversion_rate) & (time + delay <= time.max())
    return make_log(
        source="simulated",
        time_hours=time,
        bid_micros=bid,
        price_micros=np.where(won, price, -1),
        won=won,
        segment=np.array([f"segment-{index:02d}" for index in range(truth.segments)])[segment],
        click=click,
        conversion=conversion,
        conversion_time_hours=np.where(conversion, time + delay, np.nan),
    )


def draw_flat_log(seed: int, *, rows: int = 3000, segments: int = 10, hours: int = 72) -> BidLog:
    """A log in which nothing depends on anything: not on segment, hour or price."""
    rng = np.random.default_rng(seed)
    time = MONDAY_HOURS + rng.uniform(0, hours, rows)
    click = rng.random(rows) < 0.03
    delay = rng.exponential(3.0, rows)
    conversion = click & (rng.random(rows) < 0.2) & (time + delay <= time.max())
    return make_log(
        source="flat",
        time_hours=time,
        bid_micros=np.full(rows, 10**6),
        price_micros=np.maximum(rng.lognormal(7.3, 0.6, rows).round(), 1).astype(np.int64),
        won=np.ones(rows, bool),
        segment=np.array([f"segment-{index}" for index in range(segments)])[rng.integers(0, segments, rows)],
        click=click,
        conversion=conversion,
        conversion_time_hours=np.where(conversion, time + delay, np.nan),
    )


def day_profile(hour: np.ndarray) -> np.ndarray:
    return 1 + 0.5 * np.sin(2 * np.pi * (hour - 9) / 24)


@pytest.fixture
def flat_log():
    """Draw a log without any effect."""
    return draw_flat_log


@pytest.fixture(scope="session")
def truth() -> Truth:
    return Truth()


@pytest.fixture(scope="session")
def won_log(truth: Truth) -> BidLog:
    """A week in which every auction was won."""
    return draw_log(truth, seed=11)


@pytest.fixture(scope="session")
def contested_log(truth: Truth) -> BidLog:
    """The same week with ordinary bids: more than a third are lost."""
    return draw_log(replace(truth, bid_log_offset=0.0), seed=11)


@pytest.fixture
def simulate():
    """Draw a log with some parts of the truth changed."""
    return lambda seed, **changes: draw_log(replace(Truth(), **changes), seed)


def covers(statistic, value: float) -> bool:
    """Whether the truth lies in the 95% interval or within half its width: a fair draw misses this once in 400."""
    margin = 0.5 * (statistic.interval_high - statistic.interval_low)
    return statistic.interval_low - margin <= value <= statistic.interval_high + margin


@pytest.fixture(scope="session")
def inside():
    return covers


@pytest.fixture(scope="session")
def base() -> MarketSpec:
    """A market to start from, with ranges and a steepness that a measured log has to overrule."""
    return MarketSpec.model_validate(
        {
            "name": "base",
            "rivals": {"depth": 0.0},
            "price": {"steepness": 2.0},
            "randomise": {"price.diurnal_amplitude": (0.1, 0.5), "fatigue.strength": (0.0, 0.5)},
        }
    )


@pytest.fixture(scope="session")
def won_calibration(won_log: BidLog, base: MarketSpec) -> Calibration:
    return calibrate(won_log, name="mine", base=base)


@pytest.fixture(scope="session")
def contested_calibration(contested_log: BidLog, base: MarketSpec) -> Calibration:
    return calibrate(contested_log, name="contested", base=base)
