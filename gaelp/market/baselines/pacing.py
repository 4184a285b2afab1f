"""Bids in proportion to value, at a price of budget that keeps spending on plan: PID and multiplicative pacing."""

import numpy as np
from pydantic import Field

from gaelp.arrays import Floats
from gaelp.config.base import Frozen
from gaelp.market.baselines.bids import LaunchParameters, bids_for_worth, launch_price_log
from gaelp.market.baselines.objective_price import within_objective
from gaelp.market.baselines.plan import SpendPlan
from gaelp.market.baselines.values import ValueParameters, Values
from gaelp.market.policy_state import KeptState
from gaelp.market.view import Action, Brief, Observation
from gaelp.types import SegmentBelief

__all__ = ["Multiplicative", "MultiplicativeParameters", "Pid", "PidParameters", "relative_error"]


_INTEGRAL_LIMIT = 3.0
_LEAST_ERROR, _MOST_ERROR = -1.0, 2.0  # of an hour's spend, relative to its target


class PidParameters(Frozen):
    """PID pacing."""

    values: ValueParameters = ValueParameters()
    launch: LaunchParameters = LaunchParameters()
    proportional: float = Field(default=20.0, ge=0, le=25, description="log price per share of budget off plan")
    integral: float = Field(default=0.3, ge=0, le=0.6, description="the same for the sum of these shares by hour")
    price_response: float = Field(default=-1.2, ge=-4, le=3, description="of planned spend to the hour's log price")
    shade_offset: float = Field(default=0.0, ge=-0.6, le=0.6, description="first price: log correction of the shading")


class Pid(KeptState):
    """Raises the price of budget in proportion to what was spent ahead of plan, and to the sum of that over time."""

    name = "pid"
    _kept = ("values", "ahead_sum")

    def __init__(self, parameters: PidParameters) -> None:
        self._parameters = parameters
        self._values = Values(parameters.values)

    def begin(self, brief: Brief, belief: SegmentBelief | None = None, /) -> None:
        """Plan every campaign's spend."""
        self._brief = brief
        self._values.begin(brief, belief)
        self._plan = SpendPlan(brief, self._parameters.price_response)
        self._launch_log = launch_price_log(brief, self._parameters.launch)
        self._ahead_sum = np.zeros(brief.campaigns)

    def act(self, obs: Observation, /) -> Action:
        """Bid for the coming hour."""
        given = self._parameters
        ahead = 1.0 - obs.left_micros / self._brief.budget_micros - self._plan.share_before(obs.hour)
        self._ahead_sum = np.clip(self._ahead_sum + ahead, -_INTEGRAL_LIMIT, _INTEGRAL_LIMIT)
        price_log = self._launch_log + given.proportional * ahead + given.integral * self._ahead_sum
        value_log, _ = self._values.log_value(obs)
        price_log = within_objective(self._brief, obs, value_log, price_log)
        return Action(bids_for_worth(self._brief, obs, value_log - price_log[:, None], given.shade_offset))


class MultiplicativeParameters(Frozen):
    """Empirical-Bayes values with multiplicative pacing."""

    values: ValueParameters = ValueParameters()
    launch: LaunchParameters = LaunchParameters()
    step: float = Field(default=0.35, ge=0.02, le=0.6, description="log price per hour's relative error of spend")
    price_response: float = Field(default=-1.2, ge=-4, le=3, description="of planned spend to the hour's log price")
    shade_offset: float = Field(default=0.0, ge=-0.6, le=0.6, description="first price: log correction of the shading")


class Multiplicative(KeptState):
    """After each hour, multiplies the price of budget by how far spend missed a target that is replanned each hour."""

    name = "eb-pacing"
    _kept = ("values", "price_log", "target_micros")

    def __init__(self, parameters: MultiplicativeParameters) -> None:
        self._parameters = parameters
        self._values = Values(parameters.values)

    def begin(self, brief: Brief, belief: SegmentBelief | None = None, /) -> None:
        """Plan every campaign's spend."""
        self._brief = brief
        self._values.begin(brief, belief)
        self._plan = SpendPlan(brief, self._parameters.price_response)
        self._price_log = launch_price_log(brief, self._parameters.launch)
        self._target_micros = np.ones(brief.campaigns)

    def act(self, obs: Observation, /) -> Action:
        """Bid for the coming hour."""
        given = self._parameters
        error = np.where(obs.hour > 0, relative_error(obs, self._target_micros), 0.0)
        self._price_log = self._price_log + given.step * error
        self._target_micros = self._plan.target_micros(obs)
        value_log, _ = self._values.log_value(obs)
        self._price_log = within_objective(self._brief, obs, value_log, self._price_log)
        return Action(bids_for_worth(self._brief, obs, value_log - self._price_log[:, None], given.shade_offset))


def relative_error(obs: Observation, target_micros: Floats) -> Floats:
    """How far last hour's spend missed its target, relative to it, (N,)."""
    spent_micros = obs.cost_micros.sum(axis=1)
    error = (spent_micros - target_micros) / np.maximum(target_micros, 1.0)
    return np.asarray(np.clip(error, _LEAST_ERROR, _MOST_ERROR), dtype=np.float64)
