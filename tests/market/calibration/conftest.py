"""Logs drawn from a known truth, for the tests of calibration."""

from dataclasses import replace

import numpy as np
import pytest

from gaelp.bench.calibration_trial import known_log
from gaelp.bench.known_logs import MONDAY_HOURS, LogTruth
from gaelp.bench.known_reports import KnownReports, ReportTruth, draw_reports
from gaelp.market.calibration import BidLog, Calibration, HourReports, calibrate, hour_reports
from gaelp.market.calibration.log_frame import make_log
from gaelp.market.calibration.report_frame import keep_days
from gaelp.market.spec import MarketSpec


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


@pytest.fixture
def flat_log():
    """Draw a log without any effect."""
    return draw_flat_log


@pytest.fixture(scope="session")
def truth() -> LogTruth:
    return LogTruth()


@pytest.fixture(scope="session")
def won_log(truth: LogTruth) -> BidLog:
    """A week in which every auction was won."""
    return known_log(truth, seed=11)


@pytest.fixture(scope="session")
def contested_log(truth: LogTruth) -> BidLog:
    """The same week with ordinary bids: more than a third are lost."""
    return known_log(replace(truth, bid_log_offset=0.0), seed=11)


@pytest.fixture
def simulate():
    """Draw a log with some parts of the truth changed."""
    return lambda seed, **changes: known_log(replace(LogTruth(), **changes), seed)


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


@pytest.fixture(scope="session")
def known_reports() -> KnownReports:
    """Six weeks of hourly reports of 24 segments, drawn from a known truth."""
    return draw_reports(ReportTruth(days=42), seed=5)


@pytest.fixture(scope="session")
def all_reports(known_reports: KnownReports) -> HourReports:
    return hour_reports(known_reports.tables, source="known")


@pytest.fixture(scope="session")
def first_weeks(all_reports: HourReports) -> HourReports:
    return keep_days(all_reports, 0, 28)
