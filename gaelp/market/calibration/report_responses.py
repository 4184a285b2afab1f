"""Clicks, conversions, their delay and their worth, from hourly reports."""

import math
from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Floats
from gaelp.market.calibration.delay import DelayFit, fit_reported_delay, matured_share
from gaelp.market.calibration.fitted import Fitted, TooLittle
from gaelp.market.calibration.harmonic import fit_click_daypart
from gaelp.market.calibration.rates import RateFit, fit_rates
from gaelp.market.calibration.report_frame import HourReports
from gaelp.market.calibration.report_prices import GROUPS_MIN, ImpressionPrices, nested_spread
from gaelp.market.calibration.spread import spread_net_of_noise
from gaelp.market.spec import DelaySpec

__all__ = ["ReportResponses", "fit_report_responses", "report_delay"]

REPORT_WINDOW_HOURS = 720  # platforms count conversions up to 30 days after the click
_CONVERSIONS_MIN = 20
_Z = 1.959964


@dataclass(frozen=True, slots=True)
class ReportResponses:
    """Everything that follows an impression, each with its interval."""

    clicks: RateFit | TooLittle
    conversions: RateFit | TooLittle
    daypart_amplitude: Fitted | TooLittle
    campaign_log_sd: Fitted | TooLittle
    return_ratio: Fitted | TooLittle
    conversion_value_log_sd: Fitted | TooLittle


def report_delay(reports: HourReports, base: DelaySpec) -> DelayFit:
    """From the click until the conversion was reported; clicks without one count for as long as they are old."""
    wide = base.model_copy(update={"window_hours": REPORT_WINDOW_HOURS})
    sales = reports.sales
    if sales is None:
        nothing = TooLittle(observations=0, reason="no stored conversion has the time of its click")
        return DelayFit(nothing, nothing, wide)
    age = reports.as_of_hours - sales.click_hours
    first, last = float(reports.covered_hours[0]), float(reports.covered_hours[-1] + 1)
    inside = (sales.click_hours >= first) & (sales.click_hours < last) & (sales.delay_hours <= age)
    hour = (sales.click_hours[inside] - first).astype(np.int64)
    converted = np.bincount(hour, minlength=len(reports.covered_hours))
    waiting = np.maximum(reports.clicks.sum(axis=0) - converted, 0.0)
    waiting_age = reports.age_hours
    return fit_reported_delay(sales.delay_hours[inside], age[inside], waiting, waiting_age, wide)


def fit_report_responses(reports: HourReports, delay: DelaySpec, prices: ImpressionPrices) -> ReportResponses:
    """Rates of segments, the wave over the day, and what a conversion is worth."""
    clicks, shown = reports.clicks.sum(axis=1), reports.impressions.sum(axis=1)
    age = reports.age_hours
    matured = (reports.clicks * matured_share(delay, age)).sum(axis=1)
    click_rates = fit_rates(clicks, shown, "clicks")
    sold = reports.conversions.sum(axis=1)
    sale_rates = fit_rates(sold, np.maximum(matured, sold), "conversions")
    return ReportResponses(
        clicks=click_rates,
        conversions=sale_rates,
        daypart_amplitude=_daypart(reports, click_rates),
        campaign_log_sd=_campaign_spread(reports, clicks, shown),
        return_ratio=_return_ratio(reports, click_rates, sale_rates, prices),
        conversion_value_log_sd=_value_spread(reports),
    )


def _daypart(reports: HourReports, clicks: RateFit | TooLittle) -> Fitted | TooLittle:
    if isinstance(clicks, TooLittle):
        return clicks
    hour = reports.covered_hours % 24
    counted, expected = (
        np.asarray(np.bincount(hour, value.sum(axis=0), 24), np.float64)
        for value in (reports.clicks, reports.impressions * clicks.segment_rate[:, None])
    )
    daypart = fit_click_daypart(counted, expected)
    return daypart if isinstance(daypart, TooLittle) else daypart[0]


def _campaign_spread(reports: HourReports, clicks: Floats, shown: Floats) -> Fitted | TooLittle:
    """Of click rates between campaigns: the market has one number for how they differ in clicks and conversions."""
    rate = np.log((clicks + 0.5) / np.maximum(shown, 1.0))
    return nested_spread(rate, 1 / (clicks + 0.5), reports.campaign)[1]


def _return_ratio(
    reports: HourReports, clicks: RateFit | TooLittle, sales: RateFit | TooLittle, prices: ImpressionPrices
) -> Fitted | TooLittle:
    """Worth of the typical impression over its price: click rate x conversion rate x value / level."""
    sold, value = float(reports.conversions.sum()), float(reports.value_micros.sum())
    if isinstance(clicks, TooLittle) or isinstance(sales, TooLittle) or sold < _CONVERSIONS_MIN or value <= 0:
        return TooLittle(
            observations=int(sold), reason=f"{sold:.0f} conversions with a value, {_CONVERSIONS_MIN} needed"
        )
    level = float(np.median(prices.level))
    ratio = clicks.rate.value * sales.rate.value * value / sold / math.exp(level)
    parts = [_log_half(clicks.rate), _log_half(sales.rate), _Z * math.sqrt(float(np.median(prices.variance)))]
    half = math.sqrt(sum(part**2 for part in parts))
    return Fitted(
        value=ratio,
        interval_low=ratio * math.exp(-half),
        interval_high=ratio * math.exp(half),
        observations=int(sold),
        goodness=value / sold,
        method="click rate x conversion rate x mean value / price level of the typical segment; goodness: mean value of"
        " a conversion in micros",
    )


def _log_half(statistic: Fitted) -> float:
    return 0.5 * math.log(max(statistic.interval_high, 1e-12) / max(statistic.interval_low, 1e-12))


def _value_spread(reports: HourReports) -> Fitted | TooLittle:
    """Between campaigns; within one, the values of single conversions are not in an hourly report."""
    campaigns = len(reports.campaign_names)
    sold = np.bincount(reports.campaign, reports.conversions.sum(axis=1), campaigns)
    value = np.bincount(reports.campaign, reports.value_micros.sum(axis=1), campaigns)
    enough = (sold >= _CONVERSIONS_MIN) & (value > 0)
    if enough.sum() < GROUPS_MIN:
        reason = f"{int(enough.sum())} campaigns with {_CONVERSIONS_MIN} conversions, {GROUPS_MIN} needed"
        return TooLittle(observations=int(enough.sum()), reason=reason)
    mean = np.log(value[enough] / sold[enough])
    hourly = reports.conversions > 0
    single = np.where(hourly, reports.value_micros / np.maximum(reports.conversions, 1e-9), 0.0)
    usual = (value / np.maximum(sold, 1e-9))[reports.campaign][:, None]
    left = np.where(hourly, single / np.maximum(usual, 1e-9) - 1, 0.0)
    variance = float((left**2 * reports.conversions).sum() / max(float(reports.conversions.sum()), 1.0))
    spread = spread_net_of_noise(mean, np.maximum(variance / sold[enough], 1e-12))
    return Fitted(
        value=spread.sd,
        interval_low=spread.sd_low,
        interval_high=spread.sd_high,
        observations=int(enough.sum()),
        goodness=spread.straightness,
        method="Paule-Mandel over mean log values of campaigns; goodness: correlation with normal quantiles, 1 is best",
    )
