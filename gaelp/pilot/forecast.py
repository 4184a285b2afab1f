"""What a plan should earn and wants to spend: the agent plays it in twins of the fitted account.

Every draw is one account that the log leaves possible, with one course of volumes and prices. The mean over draws is
what is expected of each campaign and day; the intervals also have the chance of single sales. What is won comes from
the twin, what it costs and returns from the reports' own curves (`bid_response`).
"""

from dataclasses import dataclass, replace
from datetime import timedelta

import numpy as np

from gaelp.arrays import Floats, Ints, Ints32
from gaelp.config.objective import Objective
from gaelp.errors import DataError
from gaelp.history.bid_response import draw_response
from gaelp.history.logged_bidders import segment_belief
from gaelp.history.twin_market import TwinMarket, posterior_draws
from gaelp.market.baselines.bids import Bidder
from gaelp.market.calibration.report_curves import ReportCurves
from gaelp.market.calibration.segment_estimates import SegmentEstimates
from gaelp.market.from_reports.flights import flight_brief, flight_hours
from gaelp.market.personas import PersonaTable
from gaelp.market.spec import MarketSpec
from gaelp.market.view import Action
from gaelp.pilot.expectation import Expected, PilotExpectation
from gaelp.pilot.pilot_plan import PilotPlan
from gaelp.pilot.sale_chance import SaleChance, draw_value
from gaelp.types import SegmentBelief

__all__ = ["ForecastAccount", "forecast_pilot", "plan_estimates"]

DRAWS, DRAWS_MIN = 20, 4
_DAY_HOURS, _SHARE = 24, 0.95
_NO_CAP = 100.0  # times the budget: the market's own costs stop no campaign, pacing by the reports' costs does
_CHANCES = 50  # outcomes of sales for each draw


@dataclass(frozen=True, slots=True)
class ForecastAccount:
    """The fitted account that a plan is about."""

    spec: MarketSpec  # the market in which the agent was trained; its length is that of a flight
    personas: PersonaTable
    estimates: SegmentEstimates
    curves: ReportCurves  # that the estimates were made of
    objective: Objective
    chance: SaleChance
    refund_share: float = 0.0  # of the value, taken off where the pilot's value comes from a sales feed


@dataclass(frozen=True, slots=True)
class _Played:
    """R draws x D days x N campaigns, expected values of what was bought."""

    spend_micros: Floats
    value_micros: Floats
    conversions: Floats


def plan_estimates(estimates: SegmentEstimates, plan: PilotPlan) -> SegmentEstimates:
    """Of the plan's campaigns in its order, with its budgets; targets are in the order of the logged segments."""
    for campaign in plan.campaigns:
        if campaign.logged_as not in estimates.campaign_names:
            raise DataError(
                f"campaign {campaign.name} is known from {campaign.logged_as}, which has no estimates: choose one of"
                f" {', '.join(estimates.campaign_names[:5])}, ..."
            )
    own = estimates.some(tuple(campaign.logged_as for campaign in plan.campaigns))
    budgets = np.array([campaign.daily_micros for campaign in plan.campaigns], np.float64)
    return replace(own, daily_budget_micros=budgets)


def forecast_pilot(
    plan: PilotPlan, policy: Bidder, account: ForecastAccount, *, seed: int, draws: int = DRAWS
) -> PilotExpectation:
    """Play the plan's days with its budgets, bids within its reach, in consecutive flights."""
    if draws < DRAWS_MIN:
        raise DataError(f"saw draws={draws}; allowed: {DRAWS_MIN} or more, {DRAWS} by default.")
    estimates = plan_estimates(account.estimates, plan)
    played = _play(plan, policy, replace(account, estimates=estimates), seed=seed, draws=draws)
    rng = np.random.default_rng([seed, 31])
    spend = played.spend_micros.sum(axis=(1, 2))
    value = draw_value(
        np.repeat(played.conversions, _CHANCES, axis=0), _value_of_sale(played, estimates), account.chance, rng
    ).sum(axis=(1, 2))
    roi = value / np.maximum(np.repeat(spend, _CHANCES), 1.0) - 1
    return PilotExpectation(
        days=tuple(plan.first_day + timedelta(days=day) for day in range(plan.days)),
        campaigns=tuple(campaign.name for campaign in plan.campaigns),
        spend_micros=_rows(played.spend_micros),
        value_micros=_rows(played.value_micros),
        conversions=_rows(played.conversions),
        total_spend_micros=_expected(spend, float(spend.mean())),
        total_value_micros=_expected(value, float(played.value_micros.sum(axis=(1, 2)).mean())),
        total_conversions=_expected(
            rng.poisson(np.repeat(played.conversions.sum(axis=(1, 2)), _CHANCES)).astype(float)
        ),
        roi=_expected(roi, float(played.value_micros.sum() / played.spend_micros.sum()) - 1),
        roi_log_sd=_between_campaigns(played),
        draws=draws,
    )


def _play(plan: PilotPlan, policy: Bidder, account: ForecastAccount, *, seed: int, draws: int) -> _Played:
    estimates = account.estimates
    drawn = posterior_draws(estimates, draws, np.random.default_rng([seed, 29]))
    response = draw_response(account.curves, estimates, drawn, np.random.default_rng([seed, 43]))
    shape = (draws, *estimates.row.shape)

    def charge(shown: Ints32, bids: Ints) -> Floats:
        """What impressions cost at bids for an impression, (R x N, S)."""
        spend = response.spend_micros(bids.reshape(shape) / estimates.bid_scale, shown.reshape(shape))
        return spend.reshape(-1, shape[2])

    twin = TwinMarket(
        account.spec,
        account.personas,
        replace(estimates, overdelivery=_NO_CAP),
        drawn,
        days=plan.days,
        start_hour_of_week=plan.first_day.weekday() * _DAY_HOURS,
        seed=seed,
        objective=account.objective,
        charge=charge,
    )
    lowest, highest = _bid_range(plan, estimates, draws)
    known = segment_belief(estimates)
    belief = SegmentBelief(*(np.tile(part, (draws, 1)) for part in known))
    worth = np.concatenate([each.conversion_value_micros for each in drawn])
    click_worth = np.stack([each.conversion_rate * each.conversion_value_micros[:, None] for each in drawn])
    totals = {name: np.zeros((plan.days, len(worth))) for name in ("spend", "value", "sales")}
    for hours in flight_hours(twin.hours, account.spec.hours):
        brief = flight_brief(twin.brief, hours.start, len(hours))
        policy.begin(brief, belief)
        spent = np.zeros(len(worth))
        for hour in hours:
            left = np.maximum(brief.budget_micros - spent, 0).astype(np.int64)
            action = policy.act(replace(twin.observe(), hour=np.full(len(worth), hour - hours.start), left_micros=left))
            action = _within(action, lowest, highest)
            twin.step(action)
            shown = twin.market.state.impressions
            clicks = response.clicks(action.bid_micros.reshape(shape) / estimates.bid_scale, shown.reshape(shape))
            cost = charge(shown, action.bid_micros).sum(axis=1)
            value = (clicks * click_worth).sum(axis=2).reshape(-1)
            spent += cost
            day = hour // _DAY_HOURS
            totals["spend"][day] += cost
            totals["value"][day] += value
            totals["sales"][day] += value / worth
    spend, value, sales = (
        array.reshape(plan.days, draws, -1).transpose(1, 0, 2)
        for array in (totals["spend"], totals["value"], totals["sales"])
    )
    return _Played(spend, value * (1 - account.refund_share), sales)


def _bid_range(plan: PilotPlan, estimates: SegmentEstimates, draws: int) -> tuple[Floats, Floats]:
    """Least and highest bids for an impression, (R x N, S), that the plan allows; 0 where there is no segment."""
    bids = np.zeros(estimates.row.shape)
    for number, campaign in enumerate(plan.campaigns):
        bids[number, : len(campaign.targets)] = campaign.reference_bids_micros
    offered = np.where(estimates.present, bids, 0.0) * estimates.bid_scale
    ceiling = plan.bid_ceiling_micros * estimates.bid_scale
    ends = (np.minimum(offered / plan.reach, ceiling), np.minimum(offered * plan.reach, ceiling))
    return np.tile(ends[0], (draws, 1)), np.tile(ends[1], (draws, 1))


def _within(action: Action, lowest: Floats, highest: Floats) -> Action:
    """As the control loop bids: a pace lowers the bids, and none leaves the range."""
    pace = 1.0 if action.pace is None else np.clip(action.pace, 0, 1)[:, None]
    bids = np.clip(action.bid_micros * pace, lowest, highest)
    return Action(np.rint(bids).astype(np.int64), None, action.creative)


def _value_of_sale(played: _Played, estimates: SegmentEstimates) -> Floats:
    """Mean value of a sale in each draw, (R x chances, 1, N)."""
    sales = np.maximum(played.conversions.sum(axis=1, keepdims=True), 1e-9)
    mean = np.where(
        sales > 1e-6, played.value_micros.sum(axis=1, keepdims=True) / sales, estimates.conversion_value_micros
    )
    return np.repeat(mean, _CHANCES, axis=0)


def _between_campaigns(played: _Played) -> float:
    """Spread of log value per money between campaigns that spend anything, mean over draws."""
    value, spend = played.value_micros.sum(axis=1), played.spend_micros.sum(axis=1)
    if spend.shape[1] < 2 or (spend <= 0).any() or (value <= 0).any():
        return 0.0
    return float(np.log(value / spend).std(axis=1, ddof=1).mean())


def _rows(drawn: Floats) -> tuple[tuple[float, ...], ...]:
    """Means over draws, days x campaigns."""
    return tuple(tuple(row) for row in drawn.mean(axis=0).tolist())


def _expected(drawn: Floats, value: float | None = None) -> Expected:
    low, high = np.quantile(drawn, [(1 - _SHARE) / 2, (1 + _SHARE) / 2])
    mean = float(drawn.mean()) if value is None else value
    return Expected(value=mean, lower_95=min(float(low), mean), upper_95=max(float(high), mean))
