"""Everything hourly reports say about each segment: volume, win rate, click rate, price of a click, conversions."""

from dataclasses import dataclass, replace

import numpy as np

from gaelp.arrays import Bools, Floats, Ints
from gaelp.market.calibration.delay import matured_share
from gaelp.market.calibration.fitted import TooLittle
from gaelp.market.calibration.report_frame import HourReports
from gaelp.market.calibration.seasonality import HourFactors, fit_hour_factors
from gaelp.market.calibration.segment_effects import SegmentEffects, fit_segment_effects, log_rate_model
from gaelp.market.calibration.win_curve import WinCurves, fit_win_curves, log_bid_terms
from gaelp.market.spec import DelaySpec

__all__ = ["ReportCurves", "fit_rate_curves", "fit_report_curves", "limited_days", "week_factors"]

CLICK_TERMS, PRICE_TERMS = 2, 3  # of the log bid: a higher bid is shown higher up, where more people click
_CLICK_SPREAD, _PRICE_SPREAD = np.array([0.5, 0.3]), np.array([0.5, 0.3, 0.2])
_CONVERSION_SPREAD = np.array([0.6])
_LIMITED_SHARE = 0.75  # of the budget: a campaign that spends more on a day may have been held back by it
_LIMITED_DAYS_MAX = 1 / 3  # of a campaign's days: with more, the others are those on which prices happened to be low
_DISPERSION_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class ReportCurves:
    """What a segment gets for a bid in an hour; log rates are SegmentEffects of powers of the log bid."""

    win: WinCurves  # what a bid could win, were there no budget
    served: WinCurves  # what bids won on days that were not held back, as far as it is known; forecasts use it
    click: SegmentEffects  # clicks an impression
    price: SegmentEffects  # micros a click
    conversion: SegmentEffects | None  # conversions a click, a single term; None without conversions
    week: Floats  # (C, 168) activity of each campaign's hours of the week, mean 1
    campaign: Ints  # (S,)
    limited: Bools  # (C, D) days on which the budget may have held the campaign back
    entered: Floats  # (S, T) share of auctions that the budget let the campaign enter

    def activity(self, hour_of_week: Ints) -> Floats:
        """Volume of hours over the average hour's, shape (S, T)."""
        return self.week[self.campaign][:, hour_of_week]


def fit_report_curves(reports: HourReports, delay: DelaySpec) -> ReportCurves:
    """Fit all segments; conversions of young clicks count for the share that `delay` lets them have by now."""
    week = np.stack([_week(reports, index, None) for index in range(len(reports.campaign_names))])
    limited = limited_days(reports, week)
    win, served, week, entered = _fit_wins(reports, week, limited)
    click, price = fit_rate_curves(
        log_bid_terms(reports.bid_micros, win.usual_bid_micros),
        (reports.impressions, reports.clicks, reports.spend_micros),
        reports.day,
    )
    conversion = _fit_conversions(reports, delay)
    return ReportCurves(win, served, click, price, conversion, week, reports.campaign, limited, entered)


def fit_rate_curves(
    terms: Floats, totals: tuple[Floats, Floats, Floats], day: Ints
) -> tuple[SegmentEffects, SegmentEffects]:
    """Clicks an impression and micros a click by the log bid; `terms` (S, n, p), totals (S, n) each."""
    impressions, clicks, spend_micros = totals
    click = _fit_rate(clicks, impressions, terms[..., :CLICK_TERMS], day, _CLICK_SPREAD)
    price = _fit_rate(spend_micros, clicks, terms[..., :PRICE_TERMS], day, _PRICE_SPREAD)
    return click, price


def limited_days(reports: HourReports, week: Floats) -> Bools:
    """Days (C, D) on which a campaign spent about its budget, or more; platforms aim higher on busy weekdays."""
    shape = (len(reports.campaign_names), reports.days)
    spend = np.zeros(shape)
    np.add.at(spend, reports.campaign, reports.by_day(reports.spend_micros))
    busy = week[:, reports.hour_of_week] @ reports.day_marks / np.maximum(reports.day_marks.sum(axis=0), 1)
    with np.errstate(invalid="ignore"):
        return np.asarray(spend > _LIMITED_SHARE * reports.day_budget_micros * np.minimum(busy, 1.0))


def _fit_wins(reports: HourReports, week: Floats, limited: Bools) -> tuple[WinCurves, WinCurves, Floats, Floats]:
    """Curves from campaigns with money left; then from all, given the share of auctions entered on limited days."""
    free = np.where((limited.mean(axis=1) <= _LIMITED_DAYS_MAX)[:, None], ~limited, False)
    shares_known = np.isfinite(reports.day_share).any() or np.isfinite(reports.share).any()
    if not free.any() or not shares_known:
        # No campaign had money left, or nothing says what it missed: what it won is all there is to know.
        free, limited = np.ones_like(limited), np.zeros_like(limited)

    def activity(of_week: Floats) -> Floats:
        return of_week[reports.campaign][:, reports.hour_of_week]

    first = fit_win_curves(reports, activity(week) * free[reports.campaign][:, reports.day])
    entered = _entered(reports, first, activity(week), limited)
    chance = first.share(reports.bid_micros) * entered
    week = np.stack([_week(reports, index, chance) for index in range(len(reports.campaign_names))])
    served = fit_win_curves(reports, activity(week), entered)
    return _unlimited(first, served, np.asarray(free.any(axis=1)), reports.campaign), served, week, entered


def _unlimited(first: WinCurves, served: WinCurves, had_money: Bools, campaign: Ints) -> WinCurves:
    """The curves of segments whose campaign had money left; of the others, what these say about any segment.

    A campaign that is held back shows how many impressions were possible, not how many its bids could have won.
    Segments of one campaign are alike, so the mean of n campaigns is itself off by an n-th of the variance.
    """
    own = had_money[campaign]
    coefficient, covariance = served.effects.coefficient.copy(), served.effects.covariance.copy()
    coefficient[~own, 1:] = first.effects.coefficient[~own, 1:]
    covariance[~own] = first.effects.covariance[~own] * (1 + 1 / max(int(had_money.sum()), 1))
    covariance[~own, 0, :] = covariance[~own, :, 0] = 0.0
    covariance[~own, 0, 0] = served.effects.covariance[~own, 0, 0]
    return replace(served, effects=replace(served.effects, coefficient=coefficient, covariance=covariance))


def _entered(reports: HourReports, win: WinCurves, activity: Floats, limited: Bools) -> Floats:
    """Impressions of a limited day over those that the bids would have won, by campaign; 1 on other days."""
    expected = reports.by_day(np.where(reports.has_row, activity * win.per_hour[:, None], 0.0))
    share = np.where(np.isfinite(reports.day_share) & (reports.day_share > 0), reports.day_share, np.nan)
    possible = np.where(np.isfinite(share), reports.by_day(reports.impressions) / share, expected)
    weight = np.where(reports.has_row, activity, 0.0)
    mean_share = reports.by_day(weight * win.share(reports.bid_micros)) / np.maximum(reports.by_day(weight), 1e-12)
    won, could = np.zeros(limited.shape), np.zeros(limited.shape)
    np.add.at(won, reports.campaign, reports.by_day(reports.impressions))
    np.add.at(could, reports.campaign, possible * mean_share)
    ratio = np.clip(won / np.maximum(could, 1e-9), 0.02, 1.0)
    return np.where(limited, ratio, 1.0)[reports.campaign][:, reports.day]


def _week(reports: HourReports, campaign: int, chance: Floats | None) -> Floats:
    """168 factors of a campaign's impressions, net of how bids changed their chance; ones where they are too few."""
    mine = reports.campaign == campaign
    won = reports.impressions[mine].sum(axis=0)
    if chance is None:
        exposure = reports.has_row[mine].mean(axis=0)
    else:
        rate = reports.impressions[mine].sum(axis=1) / np.maximum(
            (chance[mine] * reports.has_row[mine]).sum(axis=1), 1e-9
        )
        exposure = (rate[:, None] * chance[mine] * reports.has_row[mine]).sum(axis=0)
        exposure = exposure / max(float(exposure.mean()), 1e-12)
    kept = exposure > 1e-6
    factors = fit_hour_factors(won[kept], exposure[kept], reports.hour_of_week[kept])
    return np.ones(168) if isinstance(factors, TooLittle) else factors.factor


def week_factors(reports: HourReports) -> HourFactors | TooLittle:
    """Factors of all campaigns together, for the market."""
    won = reports.impressions.sum(axis=0)
    exposure = reports.has_row.mean(axis=0)
    kept = exposure > 1e-6
    return fit_hour_factors(won[kept], exposure[kept], reports.hour_of_week[kept])


def _fit_rate(count: Floats, exposure: Floats, basis: Floats, day: Ints, spread: Floats) -> SegmentEffects:
    """Log rates by powers of the log bid; the dispersion is that of counts around the fit (spend: of whole clicks)."""
    total = float(count.sum()) / max(float(exposure.sum()), 1e-9)
    start = np.zeros((len(count), basis.shape[2]))
    start[:, 0] = np.log(max(total, 1e-12))
    dispersion = max(total, 1.0)
    for _ in range(_DISPERSION_ROUNDS):
        effects = fit_segment_effects(log_rate_model(count, exposure, basis, day, dispersion=dispersion), start, spread)
        start = effects.coefficient
        mean = exposure * np.exp(np.einsum("stp,sp->st", basis, start))
        used = mean > 0
        measured = float((((count - mean) ** 2)[used]).sum() / mean[used].sum()) if used.any() else 1.0
        if abs(measured - dispersion) < 0.02 * dispersion:
            break
        dispersion = max(measured, 1e-6)
    return effects


def _fit_conversions(reports: HourReports, delay: DelaySpec) -> SegmentEffects | None:
    if reports.conversions.sum() == 0:
        return None
    age = reports.age_hours
    matured = reports.clicks * matured_share(delay, age)
    return _fit_rate(reports.conversions, matured, np.ones((*matured.shape, 1)), reports.day, _CONVERSION_SPREAD)
