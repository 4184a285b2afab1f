"""What bidders of a market would have bid on logged campaigns, hour by hour, with what was known then.

A campaign's history before the log counts: segments are estimated from the calibration window, and every bidder begins
with a belief about what their impressions are worth.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Floats, Ints
from gaelp.history.logged_actions import LogDrivingSpec, LoggedHours, policy_on_log
from gaelp.history.logged_campaigns import LoggedDecisions
from gaelp.history.logged_grid import LoggedGrid, logged_grid
from gaelp.history.logged_lift import LoggedPolicy
from gaelp.market.baselines.bids import Bidder
from gaelp.market.calibration.segment_estimates import SegmentEstimates
from gaelp.market.from_reports.bids import BidRules
from gaelp.market.from_reports.brief import brief_from_estimates
from gaelp.market.from_reports.driving import DrivingSpec
from gaelp.market.from_reports.report_model import report_model
from gaelp.market.from_reports.reported_hours import LateChanges
from gaelp.market.market import Market
from gaelp.market.view import Brief
from gaelp.types import SegmentBelief

__all__ = ["KnownSegments", "bidders_on_log", "known_segments", "segment_belief", "start_hour_of_week"]

_HOUR_US = 3_600_000_000
_LEAST_VOLUME = 1e-6  # of a place that has no segment
_NO_BUDGET_MICROS = 10**13  # more than any campaign spends
_LEAST_BELIEF_SD = 0.1  # rates move between one month and the next, whatever was measured


@dataclass(frozen=True, slots=True)
class KnownSegments:
    """What a bidder knows before the log begins."""

    brief: Brief
    belief: SegmentBelief
    click_rate: Floats  # (N, S)
    paid_factor: Floats  # (N, S) of the market's prices as paid over what a bid for clicks offers


def known_segments(market: Market, estimates: SegmentEstimates, start_hour_of_week: int) -> KnownSegments:
    """Brief and belief from estimates of the calibration window, in the market that the bidders were trained in."""
    budget = np.minimum(estimates.daily_budget_micros, _NO_BUDGET_MICROS).astype(np.int64)
    brief = brief_from_estimates(
        market,
        volume_per_hour=np.maximum(estimates.per_hour, _LEAST_VOLUME),
        price_level_log=estimates.level_log,
        conversion_value_micros=estimates.conversion_value_micros,
        daily_budget_micros=budget,
        start_hour_of_week=np.full(len(budget), start_hour_of_week, np.int64),
        click_rate=estimates.click_rate,
        conversion_rate=estimates.conversion_rate,
    )
    return KnownSegments(
        brief, segment_belief(estimates), estimates.click_rate, estimates.bid_scale / estimates.click_rate
    )


def segment_belief(estimates: SegmentEstimates) -> SegmentBelief:
    """What an impression of each segment is worth, by the estimates, with their error."""
    worth = estimates.click_rate * estimates.conversion_rate * estimates.conversion_value_micros[:, None]
    variance = estimates.click_error**2 + estimates.conversion_error**2 + estimates.value_error[:, None] ** 2
    return SegmentBelief(np.log(worth), np.maximum(np.sqrt(variance), _LEAST_BELIEF_SD))


def bidders_on_log(
    bidders: Mapping[str, Bidder],
    market: Market,
    estimates: SegmentEstimates,
    logged: LoggedDecisions,
    *,
    reach: float,
) -> dict[str, LoggedPolicy]:
    """Where each bidder would have centred its bids on every logged decision, within `reach` of the logged policy's."""
    grid = logged_grid(logged, estimates)
    known = known_segments(market, estimates, start_hour_of_week(logged))
    usual = _usual_bids(logged, grid, estimates)
    hours = _hours(logged, grid, usual)
    spec = LogDrivingSpec(driving=DrivingSpec(bids=BidRules(reference_factor=reach), carried_share=1.0))
    model = report_model(market.spec, market.landscapes)
    policies = {}
    for name, bidder in bidders.items():
        actions = policy_on_log(
            bidder,
            known.brief,
            hours,
            usual,
            model=model,
            click_rate=known.click_rate,
            paid_factor=known.paid_factor,
            belief=known.belief,
            spec=spec,
        )
        policies[name] = LoggedPolicy(
            name=bidder.name, shift=grid.picked(actions.action), inside=~grid.picked(actions.clipped)
        )
    return policies


def _usual_bids(logged: LoggedDecisions, grid: LoggedGrid, estimates: SegmentEstimates) -> Floats:
    """The logging policy's bids without their random factor, (T, N, S); as estimated in hours without a row.

    A log without actions has no random factor: its bids are the usual ones.
    """
    usual = grid.laid_out(logged.bid_micros / np.exp(np.nan_to_num(logged.action, nan=0.0)), np.nan)
    return np.where(np.isnan(usual), np.maximum(estimates.usual_bid_micros, 1.0), usual)


def _hours(logged: LoggedDecisions, grid: LoggedGrid, usual: Floats) -> LoggedHours:
    bids = grid.laid_out(logged.bid_micros, np.nan)
    changes, known = _late_conversions(logged, grid)
    return LoggedHours(
        bid_micros=np.maximum(np.where(np.isnan(bids), usual, bids), 1).astype(np.int64),
        impressions=grid.laid_out(logged.impressions, 0).astype(np.int64),
        clicks=grid.laid_out(logged.clicks, 0).astype(np.int64),
        cost_micros=grid.laid_out(logged.spend_micros, 0).astype(np.int64),
        conversions=np.zeros(grid.shape),
        changes=changes,
        changes_known=known,
    )


def _late_conversions(logged: LoggedDecisions, grid: LoggedGrid) -> tuple[LateChanges, Ints]:
    """Conversions as changes to the hour of their click, known when the first reports of that hour's sales were made.

    Where no report says when, a conversion is known after the longest delay of all.
    """
    rows = np.flatnonzero(logged.conversions > 0)
    first = int(logged.hour_start.astype(np.int64).min()) // _HOUR_US
    click_hour = np.floor(logged.delay_click_hours).astype(np.int64) - first
    delays: dict[int, float] = {}
    for hour, delay in zip(click_hour.tolist(), logged.delay_hours.tolist(), strict=True):
        delays[hour] = max(delays.get(hour, 0.0), delay)
    longest = float(logged.delay_hours.max(initial=0.0))
    hours = grid.hour[rows]
    known = np.array([hour + 1 + int(np.ceil(delays.get(hour, longest))) for hour in hours.tolist()], np.int64)
    nothing = np.zeros(len(rows), np.int64)
    changes = LateChanges(
        campaign=grid.campaign[rows],
        segment=grid.segment[rows],
        hour=hours,
        impressions=nothing,
        clicks=nothing,
        conversions=logged.conversions[rows],
        cost_micros=nothing,
        value_micros=logged.value_micros[rows],
    )
    return changes, known


def start_hour_of_week(logged: LoggedDecisions) -> int:
    """Of the first hour, Monday 00h being 0; a window begins at midnight of the account's clock."""
    return int((int(logged.account_day.min()) - 1) % 7 * 24)
