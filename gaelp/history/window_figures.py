"""What the logged campaigns of a window brought, laid out as the twin plays them: campaigns x segments x hours."""

from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Bools, Floats, Ints
from gaelp.errors import DataError
from gaelp.market.calibration.report_frame import HourReports
from gaelp.market.calibration.segment_estimates import SegmentEstimates

__all__ = ["WindowFigures", "window_figures"]

DAY_HOURS = 24
_WEEK_DAYS = 7


@dataclass(frozen=True, slots=True)
class WindowFigures:
    """N campaigns, S segments, T hours in D whole days; conversions count in the hour of their click."""

    campaign_names: tuple[str, ...]
    segment_names: tuple[tuple[str, ...], ...]
    start_hour_of_week: int
    known_hours: float  # from the first hour until the reports were read: later conversions are unknown
    compared: Bools  # (N, S, T) hours with a report
    click_bid_micros: Floats  # (N, S, T) 0 where nothing was bid
    impressions: Floats  # (N, S, T) this and the next four
    clicks: Floats
    spend_micros: Floats
    conversions: Floats
    value_micros: Floats
    possible: Floats  # (N, S, D) impressions that could have been won, NaN where no share says so
    delay_hours: Floats  # (n,) from click to report, of conversions that were known
    delay_cluster: Ints  # (n,) campaign and week of each

    @property
    def days(self) -> int:
        """Length of the window."""
        return int(self.impressions.shape[2]) // DAY_HOURS

    @property
    def cluster(self) -> Ints:
        """Campaign and week of each campaign-day, (N, D)."""
        campaigns, weeks = len(self.campaign_names), -(-self.days // _WEEK_DAYS)
        return np.arange(campaigns)[:, None] * weeks + np.arange(self.days) // _WEEK_DAYS

    def by_day(self, hourly: Floats) -> Floats:
        """Sums over the hours of each day: (..., T) becomes (..., D)."""
        return np.asarray(hourly.reshape(*hourly.shape[:-1], self.days, DAY_HOURS).sum(axis=-1))


def window_figures(reports: HourReports, estimates: SegmentEstimates) -> WindowFigures:
    """The reports of whole days, by the campaigns and segments of the estimates."""
    first = int(reports.covered_hours[0])
    if first % DAY_HOURS:
        raise DataError(
            f"the window of {reports.source} begins at hour {first % DAY_HOURS} of a day; allowed: midnight of the"
            " account's clock. Cut it at the beginning of a day (keep_days)."
        )
    _check_segments(reports, estimates)
    days = -(-len(reports.covered_hours) // DAY_HOURS)
    row, pad = estimates.row, days * DAY_HOURS - len(reports.covered_hours)

    def laid_out(value: Floats | Bools) -> Floats:
        padded = np.pad(np.asarray(value, float), ((0, 0), (0, pad)))
        return np.where(row[..., None] >= 0, padded[np.maximum(row, 0)], 0.0)

    has_row = laid_out(reports.has_row) > 0
    won = laid_out(reports.impressions)
    delay, cluster = _delays(reports, first, days)
    return WindowFigures(
        campaign_names=estimates.campaign_names,
        segment_names=estimates.segment_names,
        start_hour_of_week=int(reports.hour_of_week[0]),
        known_hours=float(reports.as_of_hours - first),
        compared=has_row,
        click_bid_micros=np.where(has_row, laid_out(reports.bid_micros), 0.0),
        impressions=won,
        clicks=laid_out(reports.clicks),
        spend_micros=laid_out(reports.spend_micros),
        conversions=laid_out(reports.conversions),
        value_micros=laid_out(reports.value_micros),
        possible=_possible(reports, row, days),
        delay_hours=delay,
        delay_cluster=cluster,
    )


def _check_segments(reports: HourReports, estimates: SegmentEstimates) -> None:
    names = [
        f"{campaign}/{segment}" if segment != campaign else campaign
        for campaign, segments in zip(estimates.campaign_names, estimates.segment_names, strict=True)
        for segment in segments
        if segment
    ]
    rows = estimates.row[estimates.row >= 0]
    reported = [reports.segment_names[place] for place in rows.tolist()] if rows.max() < reports.segments else []
    if reported != names:
        raise DataError(
            f"the window of {reports.source} has {reports.segments} segments that are not those of the estimates"
            f" ({len(names)} of {estimates.source}): use two windows of the same log"
        )


def _possible(reports: HourReports, row: Ints, days: int) -> Floats:
    """Impressions over their share, on days with a share that is not floored, (N, S, D)."""
    share = reports.day_share[:, :days]
    won = reports.by_day(reports.impressions)
    known = np.isfinite(share) & (share >= 0.1)
    possible = np.where(known, won / np.where(known, share, 1.0), np.nan)
    return np.where(row[..., None] >= 0, possible[np.maximum(row, 0)], np.nan)


def _delays(reports: HourReports, first: int, days: int) -> tuple[Floats, Ints]:
    sales = reports.sales
    if sales is None:
        return np.empty(0), np.empty(0, np.int64)
    day = np.floor((sales.click_hours - first) / DAY_HOURS).astype(np.int64)
    known = sales.click_hours + sales.delay_hours <= reports.as_of_hours
    inside = (day >= 0) & (day < days) & known
    weeks = -(-days // _WEEK_DAYS)
    return sales.delay_hours[inside], reports.campaign[sales.segment[inside]] * weeks + day[inside] // _WEEK_DAYS
