"""What a reader should know about a market fitted to reports that no single statistic says."""

import numpy as np

from gaelp.market.calibration.report_curves import ReportCurves
from gaelp.market.calibration.report_frame import HourReports
from gaelp.market.calibration.report_prices import ImpressionPrices
from gaelp.market.calibration.win_curve import lost_impressions
from gaelp.market.spec import MarketSpec

__all__ = ["point_notes", "report_notes"]

_PAID_APART = 0.1  # of the price: how far what was paid may be from the market's rule before it is noted
_NARROW_LOG_SD = 0.15  # of bids: less leaves most of a curve to the other segments


def report_notes(
    reports: HourReports, curves: ReportCurves, prices: ImpressionPrices, base: MarketSpec, spec: MarketSpec
) -> tuple[str, ...]:
    """Shares that are missing or floored, days held back by budgets, bids that hardly moved, prices that differ."""
    notes = [_share_note(reports), _budget_note(curves), _bid_note(reports), *point_notes(prices, base, spec)]
    return tuple(note for note in notes if note)


def point_notes(prices: ImpressionPrices, base: MarketSpec, spec: MarketSpec) -> tuple[str, ...]:
    """What was dropped of the base market, and how the platform's prices differ from the market's."""
    dropped = sorted(set(base.randomise) - set(spec.randomise))
    notes = [f"randomise.{path} of the base market was dropped: the reports give the value" for path in dropped]
    notes.append(
        "bids and prices are for an impression: the bid for a click times the segment's click rate at its usual bid"
    )
    ratio = float(np.median(prices.paid_over_implied))
    if abs(ratio - 1) > _PAID_APART:
        notes.append(
            f"the platform takes {ratio:.2f} times the highest rival bid that the win-rate curve implies; prices of the"
            " market are as paid, so a bid in it wins as much as a bid on the platform that is lower by this factor"
        )
    return tuple(notes)


def _share_note(reports: HourReports) -> str:
    lost = lost_impressions(reports)
    bid_days = reports.by_day(reports.has_row) > 0
    by_hour = np.isfinite(lost.hour).any() or (lost.hour_least > 0).any()
    by_day, floored = np.isfinite(lost.day)[bid_days].mean(), (lost.day_least > 0)[bid_days].mean()
    if by_hour:
        return ""
    if by_day + floored == 0:
        return (
            "the reports have no impression share: how impressions rise with the bid is measured, which share of all"
            " possible ones they are is mostly assumed (9% to 91% at the usual bid); intervals allow for it"
        )
    if floored > 0:
        return f"{floored:.0%} of the days have an impression share below a tenth, of which only that is known"
    return ""


def _budget_note(curves: ReportCurves) -> str:
    if not curves.limited.any():
        return ""
    always = int((curves.limited.mean(axis=1) > 0.9).sum())
    return (
        f"budgets may have held campaigns back on {curves.limited.mean():.0%} of their days, {always} of"
        f" {len(curves.limited)} on nearly all: such days do not say what a bid could win"
    )


def _bid_note(reports: HourReports) -> str:
    log_bid = np.where(reports.has_row, np.log(reports.bid_micros), np.nan)
    narrow = int((np.nanstd(log_bid, axis=1) < _NARROW_LOG_SD).sum())
    if narrow == 0:
        return ""
    return (
        f"the bids of {narrow} of {reports.segments} segments hardly moved (log deviation below {_NARROW_LOG_SD:g}):"
        " what another bid would win is mostly taken from the other segments. Multiply bids by a random factor, log"
        " deviation 0.3 to 0.4, to learn it"
    )
