"""Fit a market to hourly reports, or to bid simulator points alone; every number with its interval."""

import math
from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Floats
from gaelp.errors import DataError
from gaelp.market.calibration.delay import DelayFit
from gaelp.market.calibration.fitted import Fitted, TooLittle
from gaelp.market.calibration.market_evidence import (
    MarketEvidence,
    Statistics,
    kept_defaults,
    market_spec,
    weighed_statistics,
    weighed_week,
)
from gaelp.market.calibration.point_curves import curves_from_points
from gaelp.market.calibration.price_moves import PriceMoves, fit_price_moves
from gaelp.market.calibration.price_signals import CORRELATED_SEGMENTS_MIN, correlate_levels
from gaelp.market.calibration.rates import RateFit, fit_rates
from gaelp.market.calibration.report import Calibration, CalibrationReport, SegmentCurve, WinCurvePoint
from gaelp.market.calibration.report_curves import ReportCurves, fit_report_curves, week_factors
from gaelp.market.calibration.report_frame import BidPoints, HourReports
from gaelp.market.calibration.report_notes import point_notes, report_notes
from gaelp.market.calibration.report_prices import (
    ImpressionPrices,
    fit_impression_prices,
    hourly_prices,
    level_statistics,
)
from gaelp.market.calibration.report_responses import ReportResponses, fit_report_responses, report_delay
from gaelp.market.calibration.seasonality import HourFactors
from gaelp.market.calibration.segment_effects import SegmentEffects
from gaelp.market.calibration.spread import spread_net_of_noise
from gaelp.market.calibration.volume import fit_overdispersion
from gaelp.market.number_text import counted
from gaelp.market.spec import MarketSpec

__all__ = ["ReportFit", "calibrate_points", "calibrate_reports", "fit_reports"]

SEGMENTS_MIN = 5
_CURVE_FACTORS = (0.5, 0.7, 1.0, 1.4, 2.0)  # of the usual bid: where the report prints the win rate
_Z = 1.959964


@dataclass(frozen=True, slots=True)
class ReportFit:
    """What is fitted for each segment, before a market is made of it; the slow part of a calibration."""

    delay: DelayFit
    curves: ReportCurves
    prices: ImpressionPrices


def fit_reports(reports: HourReports, base: MarketSpec) -> ReportFit:
    """Fit delay, curves and prices an impression of every segment."""
    delay = report_delay(reports, base.delay)
    curves = fit_report_curves(reports, delay.used)
    prices = fit_impression_prices(curves, reports.segment_names, reports.impressions.sum(axis=1))
    return ReportFit(delay, curves, prices)


def calibrate_reports(
    reports: HourReports, *, name: str, base: MarketSpec, fit: ReportFit | None = None
) -> Calibration:
    """A market like the one that the reports come from; what they are too thin for stays as in `base`.

    `fit` is what `fit_reports` returned for the same reports and base, for callers that need both.
    """
    fit = fit_reports(reports, base) if fit is None else fit
    delay, curves, prices = fit.delay, fit.curves, fit.prices
    moves = fit_price_moves(reports.covered_hours, hourly_prices(reports, curves, prices), base.rivals)
    responses = fit_report_responses(reports, delay.used, prices)
    statistics: Statistics = {
        **_volume(curves),
        "volume.overdispersion": _overdispersion(reports, curves),
        **_responses(responses),
        "delay.mean_hours": delay.mean_hours,
        "delay.immediate_share": delay.immediate_share,
        "response.price_value_correlation": _correlation(reports, prices),
        **level_statistics(prices, reports.campaign, moves.mean_log_rise),
        **_moves(moves),
    }
    size = f"{int(reports.impressions.sum()):,} impressions of {counted(reports.segments, 'segment')}"
    evidence = MarketEvidence(
        source=reports.source,
        size=f"{size} in {len(reports.covered_hours):,} hours",
        statistics=weighed_statistics(statistics, base),
        landscapes=prices.landscapes,
        factors=weighed_week(week_factors(reports), base),
    )
    spec = market_spec(base, name, evidence)
    report = _report(base, spec, evidence, reports, _curves(reports.segment_names, curves))
    return Calibration(spec, report.model_copy(update={"notes": report_notes(reports, curves, prices, base, spec)}))


def calibrate_points(
    points: BidPoints, names: tuple[str, ...], *, source: str, name: str, base: MarketSpec
) -> Calibration:
    """The same from bid simulator points alone: volumes, win rates, prices, click rates; the rest is that of `base`."""
    campaigns = sorted({full.split("/")[0] for full in names})
    campaign = np.array([campaigns.index(full.split("/")[0]) for full in names], np.int64)
    curves = curves_from_points(points, campaign)
    shown, clicks = (_usual_totals(points, curves, getattr(points, key)) for key in ("impressions", "clicks"))
    prices = fit_impression_prices(curves, names, shown)
    rates = fit_rates(clicks, shown, "clicks")
    unsaid = TooLittle(observations=len(points.segment), reason="bid simulator points have no hours, no conversions")
    statistics: Statistics = {
        **_volume(curves),
        "response.click_rate": rates.rate if isinstance(rates, RateFit) else rates,
        "response.click_log_sd": rates.log_sd if isinstance(rates, RateFit) else rates,
        **level_statistics(prices, campaign, 0.0),
    }
    evidence = MarketEvidence(
        source=source,
        size=f"{len(points.segment):,} bid simulator points of {counted(len(names), 'segment')}",
        statistics=weighed_statistics(statistics, base),
        landscapes=prices.landscapes,
        factors=unsaid,
    )
    spec = market_spec(base, name, evidence)
    report = CalibrationReport(
        market=spec.name,
        source=source,
        auctions=int((curves.win.per_hour * 24 * 7).sum()),
        won=int(shown.sum()),
        clicks=int(clicks.sum()),
        conversions=None,
        hours=int(24 * points.days.max()),
        segments=len(names),
        statistics={path: part for path, part in evidence.statistics.items() if isinstance(part, Fitted)},
        kept=kept_defaults(base, evidence),
        landscapes=prices.landscapes.reports,
        hour_of_week_low=(),
        hour_of_week_high=(),
        notes=point_notes(prices, base, spec),
        curves=_curves(names, curves),
    )
    return Calibration(spec, report)


def _volume(curves: ReportCurves) -> Statistics:
    """Possible impressions an hour: of the typical segment, and how segments differ."""
    effects = curves.win.effects
    log_volume, noise = effects.coefficient[:, 0], np.maximum(effects.covariance[:, 0, 0], 1e-12)
    segments = len(log_volume)
    if segments < SEGMENTS_MIN:
        level, half = math.exp(float(log_volume.mean())), _Z * math.sqrt(float(noise.mean()) / segments)
        reason = f"{segments} segments seen, {SEGMENTS_MIN} needed for their spread"
        spread: Fitted | TooLittle = TooLittle(observations=segments, reason=reason)
        goodness = 1.0
    else:
        between = spread_net_of_noise(log_volume, noise)
        level, half, goodness = math.exp(between.mean), between.mean_half_width, between.straightness
        spread = Fitted(
            value=between.sd,
            interval_low=between.sd_low,
            interval_high=between.sd_high,
            observations=segments,
            goodness=goodness,
            method="Paule-Mandel over log volumes of segments; goodness: correlation with normal quantiles, 1 is best",
        )
    per_hour = Fitted(
        value=level,
        interval_low=level * math.exp(-half),
        interval_high=level * math.exp(half),
        observations=segments,
        goodness=goodness,
        method="possible impressions of the typical (median) segment: those won over the share won; goodness:"
        " correlation of log volumes with normal quantiles, 1 is best",
    )
    return {"volume.per_hour": per_hour, "volume.segment_log_sd": spread}


def _overdispersion(reports: HourReports, curves: ReportCurves) -> Fitted:
    """Of impressions around the curves: it includes what hourly prices do to the win rate."""
    chance = curves.served.share(reports.bid_micros) * curves.entered * reports.has_row
    mean = chance * curves.served.per_hour[:, None] * curves.activity(reports.hour_of_week)
    mean *= (reports.impressions.sum(axis=1) / np.maximum(mean.sum(axis=1), 1e-12))[:, None]
    return fit_overdispersion(reports.impressions, mean, 30.0 * len(reports.campaign_names))


def _responses(responses: ReportResponses) -> Statistics:
    clicks, sales = responses.clicks, responses.conversions
    return {
        "response.click_rate": clicks.rate if isinstance(clicks, RateFit) else clicks,
        "response.click_log_sd": clicks.log_sd if isinstance(clicks, RateFit) else clicks,
        "response.conversion_rate": sales.rate if isinstance(sales, RateFit) else sales,
        "response.conversion_log_sd": sales.log_sd if isinstance(sales, RateFit) else sales,
        "response.campaign_log_sd": responses.campaign_log_sd,
        "response.conversion_value_log_sd": responses.conversion_value_log_sd,
        "response.return_ratio": responses.return_ratio,
        "response.daypart_amplitude": responses.daypart_amplitude,
    }


def _moves(moves: PriceMoves) -> Statistics:
    return {
        "price.common_drift_sd": moves.common_drift_sd,
        "price.segment_drift_sd": moves.segment_drift_sd,
        "price.drift_persistence": moves.drift_persistence,
        "price.hourly_noise_sd": moves.hourly_noise_sd,
        "price.diurnal_amplitude": moves.diurnal_amplitude,
    }


def _correlation(reports: HourReports, prices: ImpressionPrices) -> Fitted | TooLittle:
    clicks, shown = reports.clicks.sum(axis=1), reports.impressions.sum(axis=1)
    kept = shown > 0
    if kept.sum() < CORRELATED_SEGMENTS_MIN:
        reason = f"{int(kept.sum())} segments with impressions, {CORRELATED_SEGMENTS_MIN} needed"
        return TooLittle(observations=int(clicks.sum()), reason=reason)
    return correlate_levels(clicks[kept], shown[kept], prices.level[kept], prices.variance[kept], "segments")


def _usual_totals(points: BidPoints, curves: ReportCurves, figure: Floats) -> Floats:
    """The figure at the point nearest to the usual bid, summed over periods, shape (S,)."""
    segments = len(curves.campaign)
    away = np.abs(np.log(points.bid_micros / curves.win.usual_bid_micros[points.segment]))
    order = np.lexsort((away, points.end_day, points.segment))
    _, first = np.unique(np.stack([points.segment[order], points.end_day[order]]), axis=1, return_index=True)
    nearest = order[first]
    return np.bincount(points.segment[nearest], figure[nearest], segments).astype(float)


def _curves(names: tuple[str, ...], curves: ReportCurves) -> tuple[SegmentCurve, ...]:
    bids = curves.win.usual_bid_micros[:, None] * np.array(_CURVE_FACTORS)
    share, (low, high) = curves.win.share(bids), curves.win.interval(bids)
    limited = curves.limited.sum(axis=1)[curves.campaign]
    return tuple(
        SegmentCurve(
            segment=name,
            usual_bid_micros=round(float(curves.win.usual_bid_micros[index])),
            possible_per_hour=_log_fitted(curves.win.effects, index, "possible impressions an hour"),
            click_rate=_log_fitted(curves.click, index, "clicks an impression"),
            cost_per_click_micros=_log_fitted(curves.price, index, "micros a click"),
            conversion_rate=None
            if curves.conversion is None
            else _log_fitted(curves.conversion, index, "conversions a click"),
            limited_days=int(limited[index]),
            win_rate=tuple(
                WinCurvePoint(
                    bid_micros=round(float(bids[index, n])),
                    share=float(share[index, n]),
                    interval_low=float(low[index, n]),
                    interval_high=float(high[index, n]),
                )
                for n in range(len(_CURVE_FACTORS))
            ),
        )
        for index, name in enumerate(names)
    )


def _log_fitted(effects: SegmentEffects, index: int, what: str) -> Fitted:
    value = math.exp(float(effects.coefficient[index, 0]))
    half = _Z * math.sqrt(float(effects.covariance[index, 0, 0]))
    return Fitted(
        value=value,
        interval_low=value * math.exp(-half),
        interval_high=value * math.exp(half),
        observations=len(effects.coefficient),
        goodness=math.sqrt(float(effects.spread[0, 0])),
        method=f"{what} at the usual bid, pulled towards the other segments; goodness: log deviation between segments",
    )


def _report(
    base: MarketSpec,
    spec: MarketSpec,
    evidence: MarketEvidence,
    reports: HourReports,
    curves: tuple[SegmentCurve, ...],
) -> CalibrationReport:
    if evidence.is_empty:
        raise DataError(
            f"{reports.source}: saw {evidence.size}, which is too little for any statistic; needed: 24 hours, or 20"
            " clicks. Use a longer period."
        )
    factors = evidence.factors
    fitted = {path: part for path, part in evidence.statistics.items() if isinstance(part, Fitted)}
    low: Floats = np.empty(0)
    high: Floats = np.empty(0)
    if isinstance(factors, HourFactors):
        fitted["hour_of_week"] = factors.swing
        low, high = factors.low, factors.high
    return CalibrationReport(
        market=spec.name,
        source=reports.source,
        auctions=round(sum(curve.possible_per_hour.value for curve in curves) * len(reports.covered_hours)),
        won=int(reports.impressions.sum()),
        clicks=int(reports.clicks.sum()),
        conversions=round(float(reports.conversions.sum())),
        hours=len(reports.covered_hours),
        segments=reports.segments,
        statistics=fitted,
        kept=kept_defaults(base, evidence),
        landscapes=evidence.landscapes.reports if not isinstance(evidence.landscapes, TooLittle) else (),
        hour_of_week_low=tuple(low.round(6).tolist()),
        hour_of_week_high=tuple(high.round(6).tolist()),
        notes=(),
        curves=curves,
    )
