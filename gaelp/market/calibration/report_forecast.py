"""What fitted curves expect of hours with known bids, and how far that is from what came, against chance alone."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import poisson

from gaelp.arrays import Floats
from gaelp.config.base import Frozen
from gaelp.market.calibration.report_curves import ReportCurves
from gaelp.market.calibration.report_frame import HourReports
from gaelp.market.calibration.win_curve import log_bid_terms

__all__ = ["Forecast", "ForecastError", "day_errors", "forecast", "poisson_error_share"]

_DRAWS = 400


@dataclass(frozen=True, slots=True)
class Forecast:
    """Means of each segment and hour, shape (S, T)."""

    impressions: Floats
    clicks: Floats
    spend_micros: Floats
    conversions: Floats | None


class ForecastError(Frozen):
    """Weighted absolute percentage error (WAPE) over segments and days: of the forecast, and by chance alone."""

    figure: str
    error_share: float
    chance_share: float  # of a forecast that knows the true means
    ratio: float


def forecast(curves: ReportCurves, reports: HourReports, matured: Floats | float = 1.0) -> Forecast:
    """The forecast of the hours of `reports`: from their bids and budgets, not from what they brought.

    `matured` (T,) is the share of conversions that has been reported; 1: all of them.
    """
    win = curves.served
    volume = win.per_hour[:, None] * curves.activity(reports.hour_of_week) * reports.has_row
    impressions = volume * win.share(reports.bid_micros)
    terms = log_bid_terms(reports.bid_micros, win.usual_bid_micros)
    clicks = impressions * _rate(terms, curves.click.coefficient)
    spend = clicks * _rate(terms, curves.price.coefficient)
    kept = _within_budgets(curves, reports, spend)
    impressions, clicks, spend = impressions * kept, clicks * kept, spend * kept
    conversions = None
    if curves.conversion is not None:
        conversions = clicks * np.exp(curves.conversion.coefficient) * matured
    return Forecast(impressions, clicks, spend, conversions)


def day_errors(expected: Forecast, reports: HourReports, rng: np.random.Generator) -> tuple[ForecastError, ...]:
    """Errors by segment and day of clicks, spend and conversions; chance is Poisson around the forecast's means."""
    clicks = reports.by_day(expected.clicks)
    pairs = [
        ("clicks", clicks, reports.by_day(reports.clicks), poisson_error_share(clicks)),
        (
            "spend",
            reports.by_day(expected.spend_micros),
            reports.by_day(reports.spend_micros),
            _spend_error_share(clicks, reports, rng),
        ),
    ]
    if expected.conversions is not None:
        conversions = reports.by_day(expected.conversions)
        pairs.append(
            ("conversions", conversions, reports.by_day(reports.conversions), poisson_error_share(conversions))
        )
    return tuple(_error(figure, mean, reported, chance) for figure, mean, reported, chance in pairs)


def poisson_error_share(mean: Floats) -> float:
    """Mean absolute deviation of Poisson counts over their sum."""
    whole = np.floor(mean)
    deviation = 2 * mean * poisson.pmf(whole, np.maximum(mean, 1e-12))
    return float(deviation.sum() / max(float(mean.sum()), 1e-12))


def _spend_error_share(clicks: Floats, reports: HourReports, rng: np.random.Generator) -> float:
    """The same for spend: a Poisson number of clicks whose prices vary as those of the segment do."""
    single = reports.clicks == 1
    variation = 0.0
    if single.sum() > 1:
        price = np.where(single, reports.spend_micros, np.nan)
        mean = np.nanmean(np.where(single.any(axis=1)[:, None], price, 0.0), axis=1, keepdims=True)
        left = np.where(single, price / np.maximum(mean, 1e-9) - 1, 0.0)
        variation = float((left**2).sum() / single.sum())
    count = rng.poisson(clicks, (_DRAWS, *clicks.shape)).astype(float)
    spend = count + np.sqrt(count * variation) * rng.standard_normal(count.shape)
    return float(np.abs(spend - clicks).mean(axis=0).sum() / max(float(clicks.sum()), 1e-12))


def _error(figure: str, mean: Floats, reported: Floats, chance: float) -> ForecastError:
    error = float(np.abs(mean - reported).sum() / max(float(reported.sum()), 1e-12))
    return ForecastError(figure=figure, error_share=error, chance_share=chance, ratio=error / max(chance, 1e-12))


def _rate(terms: Floats, coefficient: Floats) -> Floats:
    return np.asarray(np.exp(np.einsum("stp,sp->st", terms[..., : coefficient.shape[1]], coefficient)))


def _within_budgets(curves: ReportCurves, reports: HourReports, spend_micros: Floats) -> Floats:
    """The share of its auctions that each campaign's budget lets it enter on a day, shape (S, T)."""
    wanted = np.zeros(reports.day_budget_micros.shape)
    np.add.at(wanted, curves.campaign, reports.by_day(spend_micros))
    hours = reports.day_marks
    busy = curves.week[:, reports.hour_of_week] @ hours / np.maximum(hours.sum(axis=0), 1)
    allowed = np.where(np.isfinite(reports.day_budget_micros), reports.day_budget_micros * busy, np.inf)
    share = np.minimum(allowed / np.maximum(wanted, 1e-9), 1.0)
    return np.asarray(share[curves.campaign][:, reports.day])
