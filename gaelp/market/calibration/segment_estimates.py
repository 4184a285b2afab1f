"""What hourly reports say about each logged segment, in the units of a market, with its error; and draws of it.

A calibrated market describes a population of campaigns. These estimates describe the logged campaigns themselves: with
them the same market can be run on a copy of the account (`gaelp.history.twin_market`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from gaelp.arrays import Bools, Floats, Ints
from gaelp.errors import DataError
from gaelp.market.calibration.level_match import match_levels
from gaelp.market.calibration.report_curves import ReportCurves
from gaelp.market.calibration.report_fit import ReportFit
from gaelp.market.calibration.report_frame import HourReports
from gaelp.market.spec import LandscapeSpec, MarketSpec

__all__ = ["SegmentEstimates", "estimate_segments"]

_LEAST_SLOPE = 0.5  # of the win rate's logit by log bid: a flatter curve says nothing about prices
_LEAST_SPEND_SHARE = 0.75  # of the budget: with less, a day was not held back
_RATE_CEILING = 0.6
_VALUE_CONVERSIONS_MIN = 3.0
_VALUE_LOG_SD = 0.3  # between two sales, where too few were seen to measure it
_TINY = 1e-12


@dataclass(frozen=True, slots=True)
class SegmentEstimates:
    """N campaigns x S segments; errors are standard errors of logarithms. Campaigns with fewer segments are padded."""

    source: str
    campaign_names: tuple[str, ...]
    segment_names: tuple[tuple[str, ...], ...]  # of each campaign; "" where padded
    row: Ints  # (N, S) of the segment in the reports, -1 where padded
    per_hour: Floats  # (N, S) possible impressions in an hour of mean activity
    per_hour_error: Floats
    level_log: Floats  # (N, S) log micros: price level of an impression, as paid
    level_error: Floats  # of what a click costs; a wrong click rate moves the price of an impression along
    bid_scale: Floats  # (N, S) bid for an impression in the market for each micro of a bid for a click
    bid_scale_error: Floats  # what is unknown about the share that a bid wins
    volume_scale_correlation: Floats  # (N, S) of these two errors: impressions are known better than either
    landscape: Ints  # (N, S) index into `landscapes`
    landscapes: tuple[LandscapeSpec, ...]
    click_rate: Floats  # (N, S) clicks an impression, at the bids of the log
    click_error: Floats
    conversion_rate: Floats  # (N, S) conversions a click, however late
    conversion_error: Floats
    conversion_value_micros: Floats  # (N,)
    value_error: Floats  # (N,)
    usual_bid_micros: Floats  # (N, S) for a click
    daily_budget_micros: Floats  # (N,) the last one known; infinite where there is none
    delivery: float  # spend over budget on days that the budget held back, weekday taken into account
    overdelivery: float  # the most that was spent on one day over its budget
    week: Floats  # (N, 168) possible impressions of the hours of the week, mean 1

    @property
    def present(self) -> Bools:
        """Where there is a segment, (N, S)."""
        return np.asarray(self.row >= 0)

    def some(self, names: Sequence[str]) -> "SegmentEstimates":
        """Those of some campaigns, in this order."""
        rows = [self.campaign_names.index(name) for name in names]
        per_campaign = {
            field.name: getattr(self, field.name)[rows]
            for field in fields(self)
            if isinstance(getattr(self, field.name), np.ndarray)
        }
        segments = tuple(self.segment_names[row] for row in rows)
        return replace(self, campaign_names=tuple(names), segment_names=segments, **per_campaign)

    def draw(self, rng: np.random.Generator) -> "SegmentEstimates":
        """One draw of what is unknown, as far as its errors say; budgets, bids and the week are known.

        The mean of the draws of a rate or volume is its estimate, at which the totals of the log are met.
        """
        shape = self.per_hour.shape
        volume, other, click, price, sale = (rng.standard_normal(shape) for _ in range(5))
        worth = rng.standard_normal(len(self.campaign_names))
        together = self.volume_scale_correlation
        scale = together * volume + np.sqrt(1 - together**2) * other
        click_log = _log_move(self.click_error, click)
        level_move = click_log + _log_move(self.level_error, price)
        return replace(
            self,
            per_hour=self.per_hour * np.exp(_log_move(self.per_hour_error, volume)),
            level_log=self.level_log + level_move,
            # Where prices are dearer, a bid still buys the same share: it is known apart from the price.
            bid_scale=self.bid_scale * np.exp(self.bid_scale_error * scale + level_move),
            click_rate=_rate(self.click_rate, click_log),
            conversion_rate=_rate(self.conversion_rate, _log_move(self.conversion_error, sale)),
            conversion_value_micros=self.conversion_value_micros * np.exp(_log_move(self.value_error, worth)),
        )


def estimate_segments(reports: HourReports, fit: ReportFit, spec: MarketSpec) -> SegmentEstimates:
    """Estimates from the calibration window; `spec` is the market calibrated on the same reports and fit.

    Price level and bid scale are those with which the market, its price moves included, wins the share of possible
    impressions that the curves expect and pays what they expect (`level_match`).
    """
    if fit.curves.conversion is None:
        raise DataError(
            f"{reports.source} has no conversions: a market of these campaigns needs some. Use a longer period."
        )
    index, landscapes = _landscapes(reports.segment_names, fit)
    match = match_levels(reports, fit.curves, spec, landscapes, index)
    row = _rows(reports.campaign, len(reports.campaign_names))
    volume_error, scale_error, correlation = _win_errors(fit.curves)
    value, value_error = _values(reports)
    delivery, overdelivery = _delivery(reports, fit.curves)
    return SegmentEstimates(
        source=reports.source,
        campaign_names=reports.campaign_names,
        segment_names=tuple(tuple(_name(reports.segment_names, place) for place in places) for places in row.tolist()),
        row=row,
        per_hour=_laid_out(fit.curves.served.per_hour, row, 0.0),
        per_hour_error=_laid_out(volume_error, row, 0.0),
        level_log=_laid_out(match.level_log, row, float(match.level_log.mean())),
        level_error=_laid_out(np.sqrt(fit.curves.price.covariance[:, 0, 0]), row, 0.0),
        bid_scale=_laid_out(np.exp(match.offset_log + match.level_log), row, 1.0),
        bid_scale_error=_laid_out(scale_error, row, 0.0),
        volume_scale_correlation=_laid_out(correlation, row, 0.0),
        landscape=_laid_out(index, row, 0).astype(np.int64),
        landscapes=landscapes,
        click_rate=_laid_out(match.click_rate, row, float(match.click_rate.mean())),
        click_error=_laid_out(np.sqrt(fit.curves.click.covariance[:, 0, 0]), row, 0.0),
        conversion_rate=_laid_out(
            np.minimum(np.exp(fit.curves.conversion.coefficient[:, 0]), _RATE_CEILING), row, 0.01
        ),
        conversion_error=_laid_out(np.sqrt(fit.curves.conversion.covariance[:, 0, 0]), row, 0.0),
        conversion_value_micros=value,
        value_error=value_error,
        usual_bid_micros=_laid_out(fit.curves.win.usual_bid_micros, row, 1.0),
        daily_budget_micros=_budgets(reports),
        delivery=delivery,
        overdelivery=overdelivery,
        week=match.week,
    )


def _landscapes(names: tuple[str, ...], fit: ReportFit) -> tuple[Ints, tuple[LandscapeSpec, ...]]:
    """A segment's own landscape if it has one, else the last, which is of all others."""
    specs = fit.prices.landscapes.specs
    own = {spec.name: place for place, spec in enumerate(specs)}
    return np.array([own.get(name, len(specs) - 1) for name in names], np.int64), specs


def _rows(campaign: Ints, campaigns: int) -> Ints:
    """Rows of the reports by campaign, (N, S), -1 beyond a campaign's last segment."""
    groups = [np.flatnonzero(campaign == number) for number in range(campaigns)]
    rows = np.full((campaigns, max(len(group) for group in groups)), -1, np.int64)
    for number, group in enumerate(groups):
        rows[number, : len(group)] = group
    return rows


def _laid_out(values: Floats | Ints, row: Ints, padding: float) -> Floats:
    return np.where(row >= 0, np.asarray(values, float)[np.maximum(row, 0)], padding)


def _name(names: Sequence[str], place: int) -> str:
    return names[place].split("/", 1)[-1] if place >= 0 else ""


def _log_move(error: Floats, normal: Floats) -> Floats:
    """A move of a logarithm that leaves the mean of the number itself."""
    return np.asarray(error * normal - error**2 / 2)


def _rate(rate: Floats, log_move: Floats) -> Floats:
    return np.minimum(rate * np.exp(log_move), _RATE_CEILING)


def _win_errors(curves: ReportCurves) -> tuple[Floats, Floats, Floats]:
    """Of log volume and log bid scale, and their correlation; a logit off by one is a scale off by 1 / slope.

    As in the intervals of the win curve, what the curve misses beyond chance is added to its own error.
    """
    win = curves.win
    covariance = win.effects.covariance
    slope = np.maximum(win.effects.coefficient[:, 2], _LEAST_SLOPE)
    logit = covariance[:, 1, 1] + win.misfit_log_sd**2
    volume = np.sqrt(np.maximum(covariance[:, 0, 0], _TINY))
    scale = np.sqrt(np.maximum(logit / slope**2 + win.level_log_sd**2, _TINY))
    correlation = covariance[:, 0, 1] / slope / (volume * scale)
    return volume, scale, np.clip(correlation, -0.999, 0.999)


def _values(reports: HourReports) -> tuple[Floats, Floats]:
    """Mean value of a conversion by campaign, and its log error; of all campaigns where one has hardly any."""
    campaigns = len(reports.campaign_names)
    sold = np.bincount(reports.campaign, reports.conversions.sum(axis=1), campaigns)
    value = np.bincount(reports.campaign, reports.value_micros.sum(axis=1), campaigns)
    if value.sum() <= 0:
        raise DataError(f"{reports.source} has no conversion with a value: give values, or a longer period.")
    overall = float(value.sum() / sold.sum())
    enough = (sold >= _VALUE_CONVERSIONS_MIN) & (value > 0)
    mean = np.where(enough, value / np.maximum(sold, _TINY), overall)
    hourly = reports.conversions > 0
    left = np.where(
        hourly, reports.value_micros / np.maximum(reports.conversions, _TINY) / mean[reports.campaign][:, None] - 1, 0.0
    )
    measured = math.sqrt(float((left**2 * reports.conversions).sum() / max(float(reports.conversions.sum()), 1.0)))
    spread = measured if sold.sum() >= 2 * campaigns else _VALUE_LOG_SD
    between = float(np.std(np.log(mean))) if campaigns > 1 else _VALUE_LOG_SD
    return mean, np.where(enough, spread / np.sqrt(np.maximum(sold, 1.0)), between)


def _budgets(reports: HourReports) -> Floats:
    """The last budget of each campaign that is known."""
    known = np.isfinite(reports.day_budget_micros)
    last = reports.days - 1 - np.argmax(known[:, ::-1], axis=1)
    return np.where(known.any(axis=1), reports.day_budget_micros[np.arange(len(known)), last], np.inf)


def _delivery(reports: HourReports, curves: ReportCurves) -> tuple[float, float]:
    """Spend over budget on days that were held back, over all campaigns that mostly were; and the highest of a day."""
    spend = np.zeros(reports.day_budget_micros.shape)
    np.add.at(spend, reports.campaign, reports.by_day(reports.spend_micros))
    hours = reports.day_marks
    busy = curves.week[:, reports.hour_of_week] @ hours / np.maximum(hours.sum(axis=0), 1)
    whole = hours.sum(axis=0) >= 23
    mostly = curves.limited.mean(axis=1) > _LEAST_SPEND_SHARE
    kept = mostly[:, None] & whole[None, :] & np.isfinite(reports.day_budget_micros)
    if not kept.any():
        return 1.0, 1.0
    allowed = np.where(kept, reports.day_budget_micros * busy, 0.0)
    share = np.where(kept, spend / np.where(kept, reports.day_budget_micros, 1.0), 0.0)
    return float((spend * kept).sum() / allowed.sum()), max(float(share.max()), 1.0)
