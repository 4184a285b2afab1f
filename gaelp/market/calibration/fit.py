"""Fit a market to a log: run every estimator, put what was found into a MarketSpec, and report the rest."""

import math
from dataclasses import dataclass

import numpy as np

from gaelp.errors import DataError
from gaelp.market.calibration.fitted import Fitted, TooLittle
from gaelp.market.calibration.landscapes import LandscapeFit, fit_landscapes, pays_its_bid
from gaelp.market.calibration.log_frame import BidLog
from gaelp.market.calibration.market_evidence import (
    MarketEvidence,
    Statistics,
    kept_defaults,
    market_spec,
    weighed_statistics,
    weighed_week,
)
from gaelp.market.calibration.plausibility import log_warnings
from gaelp.market.calibration.price_moves import PriceMoves, fit_price_moves
from gaelp.market.calibration.price_signals import SegmentPrices, fit_price_click_correlation, fit_segment_prices
from gaelp.market.calibration.rates import RateFit
from gaelp.market.calibration.report import Calibration, CalibrationReport
from gaelp.market.calibration.responses import ResponseFit, fit_responses
from gaelp.market.calibration.seasonality import HourFactors
from gaelp.market.calibration.spread import spread_net_of_noise
from gaelp.market.calibration.volume import VolumeFit, fit_volume
from gaelp.market.number_text import counted
from gaelp.market.spec import MarketSpec

__all__ = ["calibrate"]

_MARKET_PEAK_HOUR = 13.0  # when the market's own daily price wave is highest
_Z = 1.959964


@dataclass(frozen=True, slots=True)
class _Estimates:
    """Everything the estimators say about one log."""

    log: BidLog
    volume: VolumeFit
    prices: SegmentPrices
    moves: PriceMoves
    landscapes: LandscapeFit | TooLittle
    responses: ResponseFit
    correlation: Fitted | TooLittle


def calibrate(log: BidLog, *, name: str, base: MarketSpec) -> Calibration:
    """A market like the log's; what the log is too thin for stays as in `base`, and the report says so.

    A log that supports nothing at all is refused: its market would be the base market under another name.
    """
    prices = fit_segment_prices(log)
    estimates = _Estimates(
        log=log,
        volume=fit_volume(log),
        prices=prices,
        moves=fit_price_moves(log.covered_hours, prices, base.rivals),
        landscapes=fit_landscapes(log, prices.level),
        responses=fit_responses(log, base.delay),
        correlation=fit_price_click_correlation(log, prices),
    )
    evidence = MarketEvidence(
        source=log.source,
        size=f"{log.rows:,} auctions in {len(log.covered_hours):,} hours",
        statistics=weighed_statistics(_statistics(estimates), base),
        landscapes=estimates.landscapes,
        factors=weighed_week(estimates.volume.factors, base),
    )
    _refuse_empty(evidence, log)
    spec = market_spec(base, name, evidence)
    return Calibration(spec, _report(base, spec, evidence, estimates))


def _statistics(estimates: _Estimates) -> Statistics:
    """Each statistic under the path of its value in the market file."""
    clicks, conversions, delay = estimates.responses.clicks, estimates.responses.conversions, estimates.responses.delay
    statistics: Statistics = {
        "volume.per_hour": estimates.volume.per_hour,
        "volume.segment_log_sd": estimates.volume.segment_log_sd,
        "volume.overdispersion": estimates.volume.overdispersion,
        "response.click_rate": clicks.rate if isinstance(clicks, RateFit) else clicks,
        "response.click_log_sd": clicks.log_sd if isinstance(clicks, RateFit) else clicks,
        "response.conversion_rate": conversions.rate if isinstance(conversions, RateFit) else conversions,
        "response.conversion_log_sd": conversions.log_sd if isinstance(conversions, RateFit) else conversions,
        "response.daypart_amplitude": estimates.responses.daypart_amplitude,
        "delay.mean_hours": delay.mean_hours,
        "delay.immediate_share": delay.immediate_share,
    }
    prices: Statistics = {
        "response.price_value_correlation": estimates.correlation,
        "price.level_micros": _level(estimates.prices, estimates.landscapes, estimates.moves),
        "price.segment_log_sd": estimates.prices.log_sd,
        "price.common_drift_sd": estimates.moves.common_drift_sd,
        "price.segment_drift_sd": estimates.moves.segment_drift_sd,
        "price.drift_persistence": estimates.moves.drift_persistence,
        "price.hourly_noise_sd": estimates.moves.hourly_noise_sd,
        "price.diurnal_amplitude": estimates.moves.diurnal_amplitude,
    }
    if isinstance(estimates.landscapes, TooLittle) and pays_its_bid(estimates.log):
        prices = dict.fromkeys(prices, estimates.landscapes)
    return statistics | prices


def _refuse_empty(evidence: MarketEvidence, log: BidLog) -> None:
    if not evidence.is_empty:
        return
    raise DataError(
        f"{log.source}: saw {counted(log.rows, 'auction')} in {counted(len(log.covered_hours), 'hour')} with"
        f" {counted(int(log.price_known.sum()), 'price')} and"
        f" {counted(0 if log.click is None else int(log.click.sum()), 'click')}, which"
        " is too little for any statistic; needed: 200 prices, or 24 hours, or 20 clicks. Export a longer period."
    )


def _level(prices: SegmentPrices, landscapes: LandscapeFit | TooLittle, moves: PriceMoves) -> Fitted | TooLittle:
    """Mean price of the typical segment: exp of the mean log level, times the mean of price over exp(level).

    The market adds wave, drift and noise to the level, so what they add to the log's mean price is taken out.
    """
    if isinstance(landscapes, TooLittle):
        return landscapes
    used = prices.precision > 0
    if not used.any():
        reason = "no segment has enough prices for a level of its own: name fewer, larger segments"
        return TooLittle(observations=0, reason=reason)
    level, noise = prices.level[used], 1 / prices.precision[used]
    centre, half = float(level[0]), _Z * math.sqrt(float(noise[0]))
    if len(level) > 1:
        spread = spread_net_of_noise(level, noise)
        centre, half = spread.mean, spread.mean_half_width
    mean = landscapes.pooled.mean_price * math.exp(-moves.mean_log_rise)
    return Fitted(
        value=mean * math.exp(centre),
        interval_low=mean * math.exp(centre - half),
        interval_high=mean * math.exp(centre + half),
        observations=int(used.sum()),
        goodness=landscapes.pooled.max_error,
        method="mean price of the typical segment, within reach of the bids; goodness: distance between knots and"
        " Kaplan-Meier curve, near 0 is best",
    )


def _report(base: MarketSpec, spec: MarketSpec, evidence: MarketEvidence, estimates: _Estimates) -> CalibrationReport:
    log, factors = estimates.log, evidence.factors
    fitted = {path: part for path, part in evidence.statistics.items() if isinstance(part, Fitted)}
    # The same statistic per hour instead of in the long run, so it is kept or dropped with the other.
    if "price.common_drift_sd" in fitted and isinstance(estimates.moves.innovation_sd, Fitted):
        fitted["price.common_drift_innovation_sd"] = estimates.moves.innovation_sd
    low, high = (factors.low, factors.high) if isinstance(factors, HourFactors) else (np.empty(0), np.empty(0))
    if isinstance(factors, HourFactors):
        fitted["hour_of_week"] = factors.swing
    return CalibrationReport(
        market=spec.name,
        source=log.source,
        auctions=log.rows,
        won=int(log.won.sum()),
        clicks=None if log.click is None else int(log.click.sum()),
        conversions=None if log.conversion is None else int(log.conversion.sum()),
        hours=len(log.covered_hours),
        segments=log.segments,
        statistics=fitted,
        kept=kept_defaults(base, evidence),
        landscapes=estimates.landscapes.reports if isinstance(estimates.landscapes, LandscapeFit) else (),
        hour_of_week_low=tuple(low.round(6).tolist()),
        hour_of_week_high=tuple(high.round(6).tolist()),
        notes=tuple(_notes(base, spec, fitted, estimates)),
        warnings=log_warnings(log, base.price.level_micros),
    )


def _notes(base: MarketSpec, spec: MarketSpec, fitted: dict[str, Fitted], estimates: _Estimates) -> list[str]:
    """What a reader should know about the market file that no single statistic says."""
    dropped = sorted(set(base.randomise) - set(spec.randomise))
    notes = [f"randomise.{path} of the base market was dropped: the log gives the value" for path in dropped]
    skipped = estimates.log.skipped
    if skipped is not None and skipped.rows:
        notes.append(f"bad rows were set aside: {len(skipped.rows):,} of {skipped.rows_total:,}")
    if spec.price.steepness != base.price.steepness:
        notes.append(f"price.steepness {base.price.steepness} of the base market became 1: the landscapes are measured")
    wave, peak = fitted.get("price.diurnal_amplitude"), estimates.moves.peak_hour
    if wave is not None and peak is not None and wave.interval_low > 0:
        apart = abs((peak - _MARKET_PEAK_HOUR + 12) % 24 - 12)
        if apart > 3:
            notes.append(
                f"prices are highest at {peak:.1f}h in the log, at {_MARKET_PEAK_HOUR:.0f}h in the market:"
                " price.diurnal_amplitude has the right height at another hour"
            )
    if isinstance(estimates.landscapes, LandscapeFit):
        unknown = max(report.unknown_share for report in estimates.landscapes.reports)
        if unknown > 0.001:
            notes.append(
                f"up to {unknown:.1%} of a landscape's auctions cost more than the bids could reach: how much more, the"
                " log cannot tell; bid higher on a random part of the traffic to learn it"
            )
    return notes
