"""What the control should return: the scaled incumbent plays the plan in copies of the account, as the agent did."""

import numpy as np

from gaelp.arrays import Floats, Ints
from gaelp.market.calibration.segment_estimates import SegmentEstimates
from gaelp.market.view import Action, Brief, Observation
from gaelp.pilot.expectation import PilotExpectation
from gaelp.pilot.forecast import ForecastAccount, forecast_pilot, plan_estimates
from gaelp.pilot.pilot_plan import PilotPlan
from gaelp.release.control_bids import ScaledIncumbent
from gaelp.types import PolicyState, SegmentBelief

__all__ = ["ScaledBidder", "expected_lift", "forecast_control", "value_per_money"]

_WARM_UP_DAYS, _COUNTED_DAYS = 14, 14  # bids fall by a tenth a day until the budget lasts
_REACH = 5.0  # the control may bid less than the agent may: down to a fifth
_DRAWS = 8


class ScaledBidder:
    """The control as a policy of the market: usual bids, scaled after each day by what it cost."""

    name = "incumbent, scaled until its budget lasts"

    def __init__(self, plan: PilotPlan, estimates: SegmentEstimates, *, copies: int) -> None:
        """`estimates` are of the plan's campaigns; they are played in so many copies at once."""
        usual = np.zeros(estimates.row.shape, np.int64)
        for number, campaign in enumerate(plan.campaigns):
            usual[number, : len(campaign.targets)] = campaign.reference_bids_micros
        daily = np.array([campaign.daily_micros for campaign in plan.campaigns], np.int64)
        self._scale: Floats = np.tile(estimates.bid_scale, (copies, 1))
        self._daily: Ints = np.tile(daily, copies)
        self._control = ScaledIncumbent(np.tile(usual, (copies, 1)))
        self._day_hours = 24
        self._left: Ints = np.zeros(0, np.int64)  # of the flight's budget when the day began

    def begin(self, brief: Brief, _belief: SegmentBelief | None = None, /) -> None:
        """A flight begins; the factors stay as they were."""
        self._day_hours = brief.hours_per_day
        self._left = brief.budget_micros.copy()

    def act(self, obs: Observation, /) -> Action:
        """Bid for the coming hour; what yesterday cost corrects today's bids."""
        hour = int(obs.hour[0])
        if hour and hour % self._day_hours == 0:
            self._control.end_day(self._left - obs.left_micros, self._daily, np.ones(len(self._daily), np.bool_))
            self._left = obs.left_micros.copy()
        return Action(np.rint(self._control.bids_micros() * self._scale).astype(np.int64))

    def state(self) -> PolicyState:
        """What the next decision depends on."""
        return {**self._control.state(), "left": self._left.copy()}

    def load_state(self, brief: Brief, state: PolicyState, /) -> None:
        """Resume with what `state` returned."""
        self.begin(brief)
        self._control.load_state(state)
        self._left = np.asarray(state["left"], np.int64).copy()


def forecast_control(plan: PilotPlan, account: ForecastAccount, *, seed: int) -> PilotExpectation:
    """Of the control on the plan's campaigns, budgets and weekdays, after the days in which it finds its bids."""
    longer = plan.model_copy(update={"days": _WARM_UP_DAYS + _COUNTED_DAYS, "reach": _REACH})
    bidder = ScaledBidder(longer, plan_estimates(account.estimates, longer), copies=_DRAWS)
    played = forecast_pilot(longer, bidder, account, seed=seed, draws=_DRAWS)
    kept = {
        name: getattr(played, name)[_WARM_UP_DAYS:] for name in ("days", "spend_micros", "value_micros", "conversions")
    }
    return played.model_copy(update=kept)


def expected_lift(agent: PilotExpectation, control: PilotExpectation) -> float:
    """The lift in value per money that the agent is expected to have over the control."""
    return value_per_money(agent) / value_per_money(control) - 1


def value_per_money(expected: PilotExpectation) -> float:
    """All value over all spend."""
    return float(np.sum(expected.value_micros) / max(float(np.sum(expected.spend_micros)), 1.0))
