"""What a calibration found, typed: every fitted statistic, every default that was kept and why."""

from dataclasses import dataclass

from pydantic import NonNegativeInt

from gaelp.config.base import Frozen
from gaelp.market.calibration.fitted import Fitted
from gaelp.market.spec import MarketSpec

__all__ = ["Calibration", "CalibrationReport", "KeptDefault", "LandscapeReport"]


class KeptDefault(Frozen):
    """A statistic the log is too thin for; the base market's value stays."""

    statistic: str
    default: float | None  # None where the default is not one number
    observations: NonNegativeInt
    reason: str
    estimate: Fitted | None  # what the log said, where its interval says too little


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


@dataclass(frozen=True, slots=True)
class Calibration:
    """A market fitted to a log, and how well."""

    spec: MarketSpec
    report: CalibrationReport
