"""OnlineLP: dual mirror descent on the price of budget, corrected by the budget and the time that are left."""

import numpy as np
from pydantic import Field

from gaelp.arrays import Floats, Ints
from gaelp.config.base import Frozen
from gaelp.market.baselines.bids import LaunchParameters, bids_for_worth, launch_price_log
from gaelp.market.baselines.objective_price import within_objective
from gaelp.market.baselines.pacing import relative_error
from gaelp.market.baselines.plan import SpendPlan, day_left_micros
from gaelp.market.baselines.values import SignalWeights, ValueParameters, Values
from gaelp.market.compiled import compiled
from gaelp.market.policy_state import KeptState
from gaelp.market.view import Action, Brief, Observation
from gaelp.types import SegmentBelief

__all__ = ["OnlineLp", "OnlineLpParameters"]


_LEAST_LEFT = 1e-3  # of the budget, so that its logarithm stays finite


class OnlineLpParameters(Frozen):
    """OnlineLP dual pacing."""

    values: ValueParameters = ValueParameters()
    launch: LaunchParameters = LaunchParameters()
    step: float = Field(default=0.5, ge=0.02, le=0.6, description="log price per hour's relative error of spend")
    decay: float = Field(default=0.35, ge=0, le=0.6, description="steps shrink with this power of the hour")
    correction: float = Field(default=1.6, ge=0, le=2.5, description="log price per log of budget left over plan left")
    price_response: float = Field(default=-1.2, ge=-4, le=3, description="of planned spend to the hour's log price")
    shade_offset: float = Field(default=0.0, ge=-0.6, le=0.6, description="first price: log correction of the shading")


class OnlineLp(KeptState):
    """Follows the gradient of the dual price of budget, and leans against what is left of the budget or today's cap.

    The price of money is the larger of that and the one the objective asks for.
    """

    _kept = ("values", "price_log")

    def __init__(self, parameters: OnlineLpParameters, signals: SignalWeights | None = None) -> None:
        """With signals the rule knows how value moves with hour and price, and its name says so."""
        self.name = "online-lp" if signals is None else "online-lp (informed)"
        self._parameters = parameters
        self._values = Values(parameters.values, signals)

    def begin(self, brief: Brief, belief: SegmentBelief | None = None, /) -> None:
        """Plan every campaign's spend."""
        self._brief = brief
        self._values.begin(brief, belief)
        self._plan = SpendPlan(brief, self._parameters.price_response)
        self._price_log = launch_price_log(brief, self._parameters.launch)

    def act(self, obs: Observation, /) -> Action:
        """Bid for the coming hour."""
        given = self._parameters
        before = np.maximum(obs.hour - 1, 0)
        error = relative_error(obs, self._brief.budget_micros * self._plan.share(before))
        self._price_log = self._price_log + _steps(obs.hour, given.step, given.decay) * error
        value_log, _ = self._values.log_value(obs)
        # What the objective asks for is a second dual price: the budget's must not wander off below it.
        self._price_log = within_objective(self._brief, obs, value_log, self._price_log)
        price_log = self._price_log - given.correction * self._room_log(obs)
        price_log = within_objective(self._brief, obs, value_log, price_log)
        return Action(bids_for_worth(self._brief, obs, value_log - price_log[:, None], given.shade_offset))

    def _room_log(self, obs: Observation) -> Floats:
        """Log of what may still be spent over what is planned, for the flight or for today if that is tighter, (N,)."""
        left = obs.left_micros / self._brief.budget_micros
        day_left = day_left_micros(self._brief, obs) / self._brief.budget_micros
        flight = np.maximum(left, _LEAST_LEFT) / self._plan.rest(obs.hour)
        today = np.maximum(day_left, _LEAST_LEFT) / self._plan.rest_of_day(obs.hour)
        return np.log(np.minimum(flight, today))


@compiled
def _steps(hour: Ints, step: float, decay: float) -> Floats:
    """Step size of each campaign's hour, (N,), 0 before the first; numpy rounds powers differently."""
    steps = np.zeros(len(hour))
    for n in range(len(hour)):
        if hour[n] > 0:
            steps[n] = step / hour[n] ** decay
    return steps
