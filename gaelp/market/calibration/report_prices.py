"""Prices an impression from curves of segments: landscapes, levels and their moves in time.

A platform's bid is for a click, the market's for an impression: the bid for a click times the segment's click rate.
Levels are as paid. A platform that ranks adverts takes more than the highest rival bid that the win-rate curve implies;
in the market, which takes just that bid, the same win then needs a bid that is as many times higher.
"""

import math
from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Floats, Ints
from gaelp.market.calibration.fitted import Fitted, TooLittle
from gaelp.market.calibration.kaplan_meier import PriceCurve
from gaelp.market.calibration.knots import KnotFit, landscape_from_curve
from gaelp.market.calibration.landscapes import LANDSCAPES_MAX, POOLED, SEGMENT_PRICES_MIN, LandscapeFit
from gaelp.market.calibration.price_signals import SegmentPrices
from gaelp.market.calibration.report import LandscapeReport
from gaelp.market.calibration.report_curves import ReportCurves
from gaelp.market.calibration.report_frame import HourReports
from gaelp.market.calibration.spread import Spread, spread_net_of_noise
from gaelp.market.calibration.win_curve import log_bid_terms

__all__ = ["ImpressionPrices", "fit_impression_prices", "hourly_prices", "level_statistics", "nested_spread"]

GROUPS_MIN = 5
_KNOTS = 128
_LOWEST_LOG_BID = -2.5  # over the usual bid: the curve is read down to there
_SLOPE_STEP = 0.2  # of the log bid, to both sides of the usual one
_LEAST_MOVE = 0.2  # of the price of a click, where the level of prices moves by 1 and the bid stays
_Z = 1.959964


@dataclass(frozen=True, slots=True)
class ImpressionPrices:
    """Landscapes, and the log level of each segment's prices an impression."""

    landscapes: LandscapeFit
    level: Floats  # (S,) log micros: mean price within reach of the bids, as paid
    variance: Floats  # (S,) of the level's sampling error
    paid_over_implied: (
        Floats  # (S,) price paid an impression over what a second-price auction with this curve would take
    )


def fit_impression_prices(curves: ReportCurves, names: tuple[str, ...], impressions: Floats) -> ImpressionPrices:
    """A landscape for each segment with enough impressions, up to 32 of them, and one of all the others."""
    fits = [_segment_fit(curves, index, names[index], impressions[index]) for index in range(len(names))]
    level = np.log([fit.mean_price for fit, _ in fits])
    order = np.argsort(-impressions, kind="stable")[:LANDSCAPES_MAX]
    own = [int(index) for index in order if impressions[index] >= SEGMENT_PRICES_MIN]
    others = [index for index in range(len(names)) if index not in own]
    pooled = _pooled(curves, level, list(range(len(names))), POOLED)
    specs = [fits[index][0].landscape for index in own]
    reports = [_report(*fits[index]) for index in own]
    if others:
        fit = _pooled(curves, level, others, POOLED if own else "all-segments")
        specs.append(fit[0].landscape)
        reports.append(_report(*fit))
    landscapes = LandscapeFit(tuple(specs), tuple(reports), pooled[0])
    paid_over_implied = _paid_over_implied(curves, fits)
    return ImpressionPrices(landscapes, level + np.log(paid_over_implied), _level_variance(curves), paid_over_implied)


def level_statistics(prices: ImpressionPrices, campaign: Ints, mean_log_rise: float) -> dict[str, Fitted | TooLittle]:
    """Level of the typical segment, spread of segments within a campaign, and of campaigns."""
    centre, half = float(prices.level.mean()), _Z * math.sqrt(float(prices.variance.mean()) / len(prices.level))
    if len(prices.level) > 1:
        spread = spread_net_of_noise(prices.level, np.maximum(prices.variance, 1e-12))
        centre, half = spread.mean, spread.mean_half_width
    typical = math.exp(centre - mean_log_rise)
    level = Fitted(
        value=typical,
        interval_low=typical * math.exp(-half),
        interval_high=typical * math.exp(half),
        observations=len(prices.level),
        goodness=max(report.max_error for report in prices.landscapes.reports),
        method="mean price of the typical segment an impression, within reach of the bids; goodness: distance between"
        " knots and curve, near 0 is best",
    )
    within, between = nested_spread(prices.level, prices.variance, campaign)
    return {"price.level_micros": level, "price.segment_log_sd": within, "price.campaign_log_sd": between}


def nested_spread(level: Floats, variance: Floats, campaign: Ints) -> tuple[Fitted | TooLittle, Fitted | TooLittle]:
    """Standard deviation of segments within their campaign, and of campaigns, net of sampling error (Paule-Mandel)."""
    sizes = np.bincount(campaign)
    mean = np.bincount(campaign, level) / np.maximum(sizes, 1)
    inside = sizes[campaign] > 1
    if inside.sum() < GROUPS_MIN:
        reason = f"{int(inside.sum())} segments that share a campaign, {GROUPS_MIN} needed for their spread"
        within: Fitted | TooLittle = TooLittle(observations=int(inside.sum()), reason=reason)
    else:
        # The campaign's own mean is taken out of its segments, which makes them look closer to each other.
        grow = np.sqrt(sizes[campaign] / np.maximum(sizes[campaign] - 1, 1))
        apart = ((level - mean[campaign]) * grow)[inside]
        within = _spread_statistic(spread_net_of_noise(apart, np.maximum(variance[inside], 1e-12)), apart, "segments")
    if len(sizes) < GROUPS_MIN:
        reason = f"{len(sizes)} campaigns, {GROUPS_MIN} needed for their spread"
        return within, TooLittle(observations=len(sizes), reason=reason)
    own = within.value**2 if isinstance(within, Fitted) else 0.0
    noise = (np.bincount(campaign, variance) / sizes + own) / sizes
    return within, _spread_statistic(spread_net_of_noise(mean, np.maximum(noise, 1e-12)), mean, "campaigns")


def hourly_prices(reports: HourReports, curves: ReportCurves, prices: ImpressionPrices) -> SegmentPrices:
    """Levels by hour, from what clicks cost against what the curve expects for the bid.

    At the same bid, what a market charges follows the level of all prices only in part: c of it, where it rises by
    1 - c with the bid. So moves are divided by c. It is the market's c, of a mean price below the bid, and not that of
    the platform's own prices: the market has to move its level so far that what it charges moves as much as was seen.
    """
    coefficient = curves.price.coefficient
    terms = log_bid_terms(reports.bid_micros, curves.win.usual_bid_micros)[..., : coefficient.shape[1]]
    clicked = reports.clicks > 0
    expected = reports.clicks * np.exp(np.einsum("stp,sp->st", terms, coefficient))
    left = np.where(
        clicked, reports.spend_micros / np.maximum(expected, 1e-9) - 1, 0.0
    )  # about the log, without its bias
    follows = np.maximum(1 - _charged_slope(curves), _LEAST_MOVE)[:, None]
    variance = float((reports.clicks * left**2).sum() / max(int(clicked.sum()), 1))
    precision = np.where(clicked, reports.clicks * follows**2 / max(variance, 1e-9), 0.0)
    hourly = prices.level[:, None] + left / follows
    nothing = TooLittle(observations=0, reason="see price.segment_log_sd")
    return SegmentPrices(prices.level, 1 / np.maximum(prices.variance, 1e-12), hourly, precision, nothing)


def _charged_slope(curves: ReportCurves) -> Floats:
    """How the mean price below the bid rises with the bid, in logarithms, at the usual bid, (S,)."""
    win = curves.win
    log_bid = np.linspace(_LOWEST_LOG_BID, _SLOPE_STEP, _KNOTS)
    share = win.share(win.usual_bid_micros[:, None] * np.exp(log_bid))
    mass = np.diff(share, axis=1, prepend=0.0)
    mean = np.cumsum(mass * np.exp(log_bid), axis=1) / np.maximum(np.cumsum(mass, axis=1), 1e-12)
    around = np.array([np.interp([-_SLOPE_STEP, _SLOPE_STEP], log_bid, np.log(row)) for row in mean])
    return np.asarray((around[:, 1] - around[:, 0]) / (2 * _SLOPE_STEP))


def _segment_fit(curves: ReportCurves, index: int, name: str, impressions: float) -> tuple[KnotFit, PriceCurve]:
    win = curves.win
    log_bid = np.linspace(_LOWEST_LOG_BID, float(win.highest_log_bid[index]), _KNOTS)
    bids = np.zeros((len(win.usual_bid_micros), _KNOTS)) + win.usual_bid_micros[:, None] * np.exp(log_bid)
    low, high = win.interval(bids)
    share = win.cautious_share(bids)[index]
    price = bids[index] * math.exp(float(curves.click.coefficient[index, 0]))
    won_of = float(win.share(win.usual_bid_micros[:, None])[index, 0])
    curve = PriceCurve(
        price=price,
        share=share,
        std_error=(high - low)[index] / (2 * _Z),
        highest=float(price[-1]),
        prices_seen=float(impressions),
        bids_lost=float(impressions * (1 - won_of) / max(won_of, 1e-6)),
    )
    return landscape_from_curve(curve, name), curve


def _pooled(curves: ReportCurves, level: Floats, members: list[int], name: str) -> tuple[KnotFit, PriceCurve]:
    """The mean curve of segments, each over its own level, by volume; in micros of the mean level."""
    win = curves.win
    highest = win.usual_bid_micros * np.exp(win.highest_log_bid + curves.click.coefficient[:, 0]) / np.exp(level)
    ratio = np.exp(np.linspace(math.log(1e-2), math.log(float(np.median(highest[members]))), _KNOTS))
    bids = ratio * np.exp(level - curves.click.coefficient[:, 0])[:, None]
    weight = win.per_hour[members] / win.per_hour[members].sum()
    low, high = win.interval(bids)
    share = weight @ win.cautious_share(bids)[members]
    typical = math.exp(float(weight @ level[members]))
    curve = PriceCurve(
        price=ratio * typical,
        share=share,
        std_error=weight @ (high - low)[members] / (2 * _Z),
        highest=float(ratio[-1] * typical),
        prices_seen=float(win.per_hour[members].sum()),
        bids_lost=0.0,
    )
    return landscape_from_curve(curve, name), curve


def _report(fit: KnotFit, curve: PriceCurve) -> LandscapeReport:
    steep = np.gradient(curve.share, np.log(curve.price))
    middle = int(np.argmax(steep))
    half = _Z * float(curve.std_error[middle]) / max(float(steep[middle]), 1e-6)
    mean = Fitted(
        value=fit.mean_price,
        interval_low=fit.mean_price * math.exp(-half),
        interval_high=fit.mean_price * math.exp(half),
        observations=int(curve.prices_seen),
        goodness=fit.max_error,
        method="win-rate curve of hourly reports, mean of the prices within reach of the bids; goodness: distance"
        " between knots and curve, near 0 is best",
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


def _level_variance(curves: ReportCurves) -> Floats:
    """A curve that is off by one logit is off by 1 / slope in log price; the click rate adds its own error."""
    win = curves.win.effects
    slope = np.maximum(win.coefficient[:, 2], 0.5)
    return np.asarray(win.covariance[:, 1, 1] / slope**2 + curves.click.covariance[:, 0, 0])


def _paid_over_implied(curves: ReportCurves, fits: list[tuple[KnotFit, PriceCurve]]) -> Floats:
    """At the usual bid; 1 where the platform takes the price of the highest rival, as the market does."""
    paid = np.exp(curves.price.coefficient[:, 0] + curves.click.coefficient[:, 0])
    implied = np.empty(len(fits))
    for index, (_, curve) in enumerate(fits):
        bid = curves.win.usual_bid_micros[index] * math.exp(float(curves.click.coefficient[index, 0]))
        won = curve.price <= bid
        mass = np.diff(curve.share[won], prepend=0.0)
        implied[index] = float((mass * curve.price[won]).sum() / max(float(mass.sum()), 1e-12))
    return paid / implied


def _spread_statistic(spread: Spread, values: Floats, what: str) -> Fitted:
    return Fitted(
        value=spread.sd,
        interval_low=spread.sd_low,
        interval_high=spread.sd_high,
        observations=len(values),
        goodness=spread.straightness,
        method=f"Paule-Mandel over log levels of {what}; goodness: correlation with normal quantiles, 1 is best",
    )
