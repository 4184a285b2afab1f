"""What chance alone does to a campaign's days: the error that a market would have which is right in every mean.

Measured on the held-out days themselves, because fortnights differ in how noisy they are: how far the days of a
campaign are from what the fitted curves expect of their bids and weekday, with the curves scaled to its own total.
The market that is judged has no part in it, and a factor by which the curves are wrong for a campaign cancels out, so
neither a bad market nor a bad fit can excuse itself. Scaling takes one degree of freedom from each campaign.
"""

import math
from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Floats, Ints
from gaelp.errors import DataError
from gaelp.market.calibration.report_curves import ReportCurves
from gaelp.market.calibration.report_forecast import forecast
from gaelp.market.calibration.report_frame import HourReports

__all__ = ["DAYS_MIN", "NORMAL_DEVIATION", "NoiseFloor", "measure_noise_floor"]

DAYS_MIN = 7
NORMAL_DEVIATION = math.sqrt(2 / math.pi)  # mean absolute deviation over standard deviation
_WEEK_DAYS = 7
_TINY = 1e-9


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """Of one figure, summed over the days of clusters of campaign and week, (N, W) each."""

    square: Floats  # squared deviations by chance
    deviation: Floats  # absolute deviations by chance
    total: Floats  # of the figure

    def by_campaign(self) -> Floats:
        """Mean absolute deviation of a day over its mean, (N,)."""
        return np.asarray(self.deviation.sum(axis=1) / np.maximum(self.total.sum(axis=1), _TINY))

    @property
    def share(self) -> float:
        """The WAPE of a market that is right in every mean."""
        return float(self.deviation.sum() / max(float(self.total.sum()), _TINY))


def measure_noise_floor(reports: HourReports, curves: ReportCurves) -> dict[str, NoiseFloor]:
    """Noise floors of spend and clicks by campaign-day of a held-out window; `curves` are of the calibration window."""
    if reports.days < DAYS_MIN:
        raise DataError(
            f"{reports.source}: saw a held-out window of {reports.days} days; allowed: {DAYS_MIN} or more to tell"
            " chance from a wrong market. Use a longer window."
        )
    expected = forecast(curves, reports)
    campaigns = len(reports.campaign_names)

    def by_campaign(value: Floats) -> Floats:
        total = np.zeros((campaigns, reports.days))
        np.add.at(total, reports.campaign, reports.by_day(value))
        return total

    pairs = {"spend": (reports.spend_micros, expected.spend_micros), "clicks": (reports.clicks, expected.clicks)}
    return {name: _floor(by_campaign(logged), by_campaign(mean)) for name, (logged, mean) in pairs.items()}


def _floor(logged: Floats, mean: Floats) -> NoiseFloor:
    """From (N, D) days as logged and as expected."""
    days = mean.shape[1]
    freedom = days / (days - 1)
    scale = logged.sum(axis=1, keepdims=True) / np.maximum(mean.sum(axis=1, keepdims=True), _TINY)
    typical = np.median(logged / np.maximum(mean, _TINY), axis=1, keepdims=True)  # not moved by single days
    week: Ints = np.arange(days) // _WEEK_DAYS
    return NoiseFloor(
        square=_by_week((logged - scale * mean) ** 2 * freedom, week),
        deviation=_by_week(np.abs(logged - typical * mean) * math.sqrt(freedom), week),
        total=_by_week(logged, week),
    )


def _by_week(days: Floats, week: Ints) -> Floats:
    return np.stack([days[:, week == each].sum(axis=1) for each in range(int(week[-1]) + 1)], axis=1)
