"""Price levels with which a market wins and pays what the curves of hourly reports expect.

A market charges the highest rival bid; a platform with several places on a page charges more. And a market moves its
prices from hour to hour, which the curves, fitted over all hours, already contain. So levels are not read off the
curves: the two numbers of a segment are solved for on the hours and bids of the reports, given the market's landscape
and price moves. The offset (log bid for an impression over the level, at a bid of 1 micro for a click) decides what is
won, the level what is paid.

The week of the curves is that of impressions: it contains what the daily wave of prices does to them, and the market
would add the wave a second time. So the wave's part is taken out of it.
"""

import math
from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Floats, Ints
from gaelp.market.calibration.report_curves import ReportCurves
from gaelp.market.calibration.report_frame import HourReports
from gaelp.market.calibration.win_curve import log_bid_terms
from gaelp.market.landscape import GRID, Landscapes, build_landscapes
from gaelp.market.spec import LandscapeSpec, MarketSpec
from gaelp.market.world import DAY_HOURS, price_profile_log

__all__ = ["LevelMatch", "match_levels"]

_HOURS_MAX = 336  # hours of the reports that are used, evenly spread
_NODES = 5  # of the price moves' normal distribution
_HALVINGS = 30
_WIDEST = 6.0  # log distance of bid and level that is searched
_LEAST = 1e-9


@dataclass(frozen=True, slots=True)
class LevelMatch:
    """Of each segment of the reports, shape (S,)."""

    offset_log: Floats
    level_log: Floats
    click_rate: Floats  # of the impressions that the log's bids win
    week: Floats  # (C, 168) activity of campaigns' possible impressions, mean 1


def match_levels(
    reports: HourReports, curves: ReportCurves, spec: MarketSpec, landscapes: tuple[LandscapeSpec, ...], index: Ints
) -> LevelMatch:
    """Solve for offset and level of every segment; `index` (S,) says which landscape is whose."""
    hours = np.unique(np.linspace(0, len(reports.covered_hours) - 1, _HOURS_MAX).astype(np.int64))
    bids = np.where(reports.has_row, reports.bid_micros, curves.served.usual_bid_micros[:, None])[:, hours]
    hour_of_week = reports.hour_of_week[hours]
    weight, share = curves.activity(hour_of_week), curves.served.share(bids)
    terms = log_bid_terms(bids, curves.served.usual_bid_micros)
    clicks, price = (
        np.exp(np.einsum("stp,sp->st", terms[..., : part.coefficient.shape[1]], part.coefficient))
        for part in (curves.click, curves.price)
    )
    shown = weight * share
    click_rate = (shown * clicks).sum(axis=1) / np.maximum(shown.sum(axis=1), _LEAST)
    paid = (shown * clicks * price).sum(axis=1) / np.maximum(shown.sum(axis=1), _LEAST)
    tables = build_landscapes(landscapes, first_price=spec.price.payment == "first", steepness=spec.price.steepness)
    wave, moves_sd = price_profile_log(spec).astype(np.float64), _moves_sd(spec)
    profile = wave[reports.covered_hours[hours] % DAY_HOURS]
    reach, wanted = np.log(bids) - profile, shown.sum(axis=1) / np.maximum(weight.sum(axis=1), _LEAST)
    offset = _solve(tables, index, reach, weight, wanted, moves_sd)
    by_hour = _won_by_hour(tables, index, np.log(bids) + offset[:, None], wave, moves_sd)
    week = _without_wave(curves, by_hour)
    weight = week[curves.campaign][:, hour_of_week]
    offset = _solve(tables, index, reach, weight, wanted, moves_sd)
    won, cost = _expected(tables, index, reach + offset[:, None], weight, moves_sd, np.exp(profile))
    level = np.log(np.maximum(paid, _LEAST) * won / np.maximum(cost, _LEAST))
    return LevelMatch(offset, level, click_rate, week)


def _won_by_hour(tables: Landscapes, index: Ints, ratio_log: Floats, wave: Floats, moves_sd: float) -> Floats:
    """Mean share won in each hour of the day, were all bids made in it, (S, 24)."""
    even, level = np.ones_like(ratio_log), np.ones(ratio_log.shape[1])
    return np.stack([_expected(tables, index, ratio_log - each, even, moves_sd, level)[0] for each in wave], axis=1)


def _without_wave(curves: ReportCurves, won_by_hour: Floats) -> Floats:
    """Weeks of campaigns, each hour over the share that its prices let the campaign win; mean 1, (C, 168)."""
    volume = curves.served.per_hour[:, None]
    campaigns = len(curves.week)
    won = np.zeros((campaigns, DAY_HOURS))
    np.add.at(won, curves.campaign, volume * won_by_hour)
    hour = np.arange(curves.week.shape[1]) % DAY_HOURS
    week = curves.week / np.maximum(won[:, hour], _LEAST)
    return np.asarray(week / week.mean(axis=1, keepdims=True))


def _moves_sd(spec: MarketSpec) -> float:
    """How far an hour's level is from its mean by hour of day."""
    price = spec.price
    return math.sqrt(price.common_drift_sd**2 + price.segment_drift_sd**2 + price.hourly_noise_sd**2)


def _solve(tables: Landscapes, index: Ints, reach: Floats, weight: Floats, wanted: Floats, moves_sd: float) -> Floats:
    """The offset at which the mean share won is the one wanted, by halving; the share rises with the offset."""
    middle = -reach.mean(axis=1)
    low, high = middle - _WIDEST, middle + _WIDEST
    for _ in range(_HALVINGS):
        offset = (low + high) / 2
        won, _ = _expected(tables, index, reach + offset[:, None], weight, moves_sd, np.ones(reach.shape[1]))
        low, high = np.where(won < wanted, offset, low), np.where(won < wanted, high, offset)
    return np.asarray((low + high) / 2)


def _expected(
    tables: Landscapes, index: Ints, ratio_log: Floats, weight: Floats, moves_sd: float, level: Floats
) -> tuple[Floats, Floats]:
    """Mean share won and mean cost of a possible impression over the segment's level, (S,) each."""
    nodes, node_weight = np.polynomial.hermite_e.hermegauss(_NODES)
    won, cost = np.zeros(len(index)), np.zeros(len(index))
    total = np.maximum(weight.sum(axis=1), _LEAST)
    for node, part in zip(nodes * moves_sd, node_weight / node_weight.sum(), strict=True):
        for segment, place in enumerate(index):
            at = ratio_log[segment] - node
            own = weight[segment] * part / total[segment]
            won[segment] += own @ np.interp(at, GRID, tables.win[place])
            cost[segment] += (own * level) @ np.interp(at, GRID, tables.cost[place]) * math.exp(node)
    return won, cost
