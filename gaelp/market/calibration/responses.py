"""Clicks and conversions of a log: rates by segment, conversions not yet reported allowed for, and the daily wave."""

from dataclasses import dataclass

from gaelp.market.calibration.delay import DelayFit, fit_delay, matured_share
from gaelp.market.calibration.fitted import Fitted, TooLittle
from gaelp.market.calibration.harmonic import fit_click_daypart
from gaelp.market.calibration.log_frame import BidLog
from gaelp.market.calibration.rates import RateFit, fit_rates
from gaelp.market.spec import DelaySpec

__all__ = ["ResponseFit", "fit_click_rates", "fit_responses"]


@dataclass(frozen=True, slots=True)
class ResponseFit:
    """Everything that follows an impression."""

    clicks: RateFit | TooLittle
    conversions: RateFit | TooLittle
    delay: DelayFit
    daypart_amplitude: Fitted | TooLittle


def fit_responses(log: BidLog, base: DelaySpec) -> ResponseFit:
    """Fit rates, delay and the click rate's wave over the day."""
    delay = fit_delay(log, base)
    clicks = fit_click_rates(log)
    return ResponseFit(clicks, _conversion_rates(log, delay.used), delay, _daypart(log, clicks))


def fit_click_rates(log: BidLog) -> RateFit | TooLittle:
    """Clicks an impression, by segment."""
    if log.click is None:
        return TooLittle(observations=0, reason="the log has no column click")
    return fit_rates(log.by_segment(log.click), log.by_segment(log.won), "clicks")


def _conversion_rates(log: BidLog, delay: DelaySpec) -> RateFit | TooLittle:
    """Conversions a click; a young click counts for the share of its conversions that can have been reported."""
    if log.click is None or log.conversion is None:
        return TooLittle(observations=0, reason="the log has no column conversion")
    counted = log.conversion
    if log.delay_hours is not None:
        counted = counted & (log.delay_hours <= delay.window_hours)
    matured = log.click * matured_share(delay, log.end_hours - log.time_hours)
    return fit_rates(log.by_segment(counted), log.by_segment(matured), "conversions")


def _daypart(log: BidLog, clicks: RateFit | TooLittle) -> Fitted | TooLittle:
    if log.click is None or isinstance(clicks, TooLittle):
        return clicks if isinstance(clicks, TooLittle) else TooLittle(observations=0, reason="no column click")
    expected = log.by_hour_of_day(log.won * clicks.segment_rate[log.segment])
    daypart = fit_click_daypart(log.by_hour_of_day(log.click), expected)
    return daypart if isinstance(daypart, TooLittle) else daypart[0]
