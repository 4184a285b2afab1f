"""The price distributions of a log: one per segment that has enough prices, one for the others together."""

import math
from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Bools, Floats
from gaelp.market.calibration.fitted import Fitted, TooLittle
from gaelp.market.calibration.kaplan_meier import PriceCurve, kaplan_meier
from gaelp.market.calibration.knots import KnotFit, landscape_from_curve
from gaelp.market.calibration.log_frame import BidLog
from gaelp.market.calibration.price_levels import log_prices
from gaelp.market.calibration.report import LandscapeReport
from gaelp.market.spec import LandscapeSpec

__all__ = ["LandscapeFit", "fit_landscapes", "pays_its_bid", "ratio_curve"]

PRICES_MIN = 200
SEGMENT_PRICES_MIN = 1000
LANDSCAPES_MAX = 32
AT_RISK_MIN = 20
POOLED = "other-segments"
_PAID_BID_SHARE = 0.98
_Z = 1.959964


@dataclass(frozen=True, slots=True)
class LandscapeFit:
    """Landscapes for the market and, for price levels, the one all segments share."""

    specs: tuple[LandscapeSpec, ...]
    reports: tuple[LandscapeReport, ...]
    pooled: KnotFit  # of prices over the segment's own typical price


def pays_its_bid(log: BidLog) -> bool:
    """Whether the price column holds what was paid in first-price auctions, which says nothing about rivals."""
    won = log.won
    return int(won.sum()) > 0 and float((log.price_micros[won] == log.bid_micros[won]).mean()) > _PAID_BID_SHARE


def ratio_curve(log: BidLog, level: Floats, rows: Bools | None = None) -> PriceCurve:
    """Kaplan-Meier of prices over exp(level) of the segment, level in log micros, shape (S,)."""
    value, price_known = log_prices(log)
    ratio = np.exp(value - level[log.segment])
    if rows is not None:
        ratio, price_known = ratio[rows], price_known[rows]
    return kaplan_meier(ratio, price_known, at_risk_min=AT_RISK_MIN)


def fit_landscapes(log: BidLog, level: Floats) -> LandscapeFit | TooLittle:
    """Fit by segment; `level` (S,) is each segment's mean log price, by which the pooled ones are put on one scale."""
    prices_seen = np.bincount(log.segment[log.price_known], minlength=log.segments)
    if pays_its_bid(log):
        reason = "won prices equal the bids: a first-price log has what was paid, not the rival's price; export the"
        return TooLittle(observations=int(prices_seen.sum()), reason=reason + " minimum bid to win as price_micros")
    if prices_seen.sum() < PRICES_MIN:
        reason = f"{int(prices_seen.sum())} prices seen, {PRICES_MIN} needed"
        return TooLittle(observations=int(prices_seen.sum()), reason=reason)
    pooled = landscape_from_curve(ratio_curve(log, level), POOLED)
    own = [
        index
        for index in np.argsort(-prices_seen)[:LANDSCAPES_MAX].tolist()
        if prices_seen[index] >= SEGMENT_PRICES_MIN
    ]
    fits = [_fit_rows(log, np.zeros(log.segments), log.segment == index, log.segment_names[index]) for index in own]
    others = ~np.isin(log.segment, own)
    if int((others & log.price_known).sum()) >= PRICES_MIN or not own:
        typical = float(np.average(level, weights=prices_seen))
        fits.append(_fit_rows(log, level - typical, others, POOLED if own else "all-segments"))
    return LandscapeFit(tuple(spec for spec, _ in fits), tuple(report for _, report in fits), pooled)


def _fit_rows(log: BidLog, level: Floats, rows: Bools, name: str) -> tuple[LandscapeSpec, LandscapeReport]:
    curve = ratio_curve(log, level, rows)
    fit = landscape_from_curve(curve, name)
    return fit.landscape, _report(fit, curve)


def _report(fit: KnotFit, curve: PriceCurve) -> LandscapeReport:
    share = curve.mass / curve.mass.sum()
    sd = math.sqrt(float((share * (curve.price - (share * curve.price).sum()) ** 2).sum()))
    half = _Z * sd / math.sqrt(curve.prices_seen)
    mean = Fitted(
        value=fit.mean_price,
        interval_low=max(fit.mean_price - half, 0.0),
        interval_high=fit.mean_price + half,
        observations=int(curve.prices_seen),
        goodness=fit.max_error,
        method="Kaplan-Meier, mean of the prices within reach of the bids; goodness: distance between knots and"
        " curve, near 0 is best",
    )
    return LandscapeReport(
        name=fit.landscape.name,
        mean_price_micros=mean,
        prices_seen=int(curve.prices_seen),
        bids_lost=int(curve.bids_lost),
        knots=len(fit.landscape.knots),
        max_error=fit.max_error,
        half_width_95=_Z * float(curve.std_error.max()),
        unknown_share=fit.unknown_share,
        known_up_to_micros=curve.highest,
    )
