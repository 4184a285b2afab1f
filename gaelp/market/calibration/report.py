"""What a calibration found, typed: every fitted statistic, every default that was kept and why."""

from dataclasses import dataclass
from typing import Literal

from pydantic import NonNegativeInt

from gaelp.config.base import Frozen
from gaelp.market.calibration.fitted import Fitted
from gaelp.market.spec import MarketSpec

__all__ = [
    "Calibration",
    "CalibrationReport",
    "CalibrationResult",
    "KeptDefault",
    "LandscapeReport",
    "SegmentCurve",
    "WinCurvePoint",
]


class KeptDefault(Frozen):
    """A statistic the log is too thin for; the base market's value stays."""

    statistic: str
    default: float | None  # None where the default is not one number
    observations: NonNegativeInt
    reason: str
    estimate: Fitted | None  # what the log said, where its interval says too little


class CalibrationResult(Frozen):
    """One row of the table of results: what the market file has, and where it comes from."""

    statistic: str
    value: float | None  # in the market file; None where it is not one number
    interval_low: float | None  # of the log's estimate, used or not; None where there is none
    interval_high: float | None
    source: Literal["log", "base market"]
    observations: NonNegativeInt
    reason: str | None  # why the base market's value stays


class LandscapeReport(Frozen):
    """How one price distribution was fitted."""

    name: str
    mean_price_micros: Fitted
    prices_seen: NonNegativeInt
    bids_lost: NonNegativeInt
    knots: NonNegativeInt
    max_error: float  # distance between the knots and the Kaplan-Meier curve
    half_width_95: float  # widest half interval of the curve (Greenwood)
    unknown_share: float  # auctions dearer than the highest bid: how much dearer is not in the log
    known_up_to_micros: float


class WinCurvePoint(Frozen):
    """The share of possible impressions that one bid wins."""

    bid_micros: NonNegativeInt  # for a click
    share: float
    interval_low: float
    interval_high: float


class SegmentCurve(Frozen):
    """What hourly reports or bid simulator points say about one segment."""

    segment: str
    usual_bid_micros: NonNegativeInt  # for a click; rates and prices are those at this bid
    possible_per_hour: Fitted
    click_rate: Fitted
    cost_per_click_micros: Fitted
    conversion_rate: Fitted | None
    limited_days: NonNegativeInt  # on which the budget may have held it back
    win_rate: tuple[WinCurvePoint, ...]


class CalibrationReport(Frozen):
    """Everything to judge a calibration by; statistics are named by their path in the market file."""

    market: str
    source: str
    auctions: NonNegativeInt
    won: NonNegativeInt
    clicks: NonNegativeInt | None
    conversions: NonNegativeInt | None
    hours: NonNegativeInt
    segments: NonNegativeInt
    statistics: dict[str, Fitted]
    kept: tuple[KeptDefault, ...]
    landscapes: tuple[LandscapeReport, ...]
    hour_of_week_low: tuple[float, ...]
    hour_of_week_high: tuple[float, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...] = ()  # doubts about the log itself
    curves: tuple[SegmentCurve, ...] = ()  # of a calibration from hourly reports or bid simulator points

    @property
    def estimates(self) -> dict[str, Fitted]:
        """Every estimate with an interval, used in the market or not."""
        return self.statistics | {part.statistic: part.estimate for part in self.kept if part.estimate is not None}

    @property
    def results(self) -> tuple[CalibrationResult, ...]:
        """Every statistic in one table, first those of the log."""
        from_log = [
            _row(path, part.value, part, "log", part.observations, None) for path, part in self.statistics.items()
        ]
        kept = [
            _row(part.statistic, part.default, part.estimate, "base market", part.observations, part.reason)
            for part in self.kept
        ]
        return (*from_log, *kept)


def _row(
    statistic: str,
    value: float | None,
    estimate: Fitted | None,
    source: Literal["log", "base market"],
    observations: int,
    reason: str | None,
) -> CalibrationResult:
    return CalibrationResult(
        statistic=statistic,
        value=value,
        interval_low=None if estimate is None else estimate.interval_low,
        interval_high=None if estimate is None else estimate.interval_high,
        source=source,
        observations=observations,
        reason=reason,
    )


@dataclass(frozen=True, slots=True)
class Calibration:
    """A market fitted to a log, and how well."""

    spec: MarketSpec
    report: CalibrationReport
