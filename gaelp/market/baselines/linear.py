"""Bids in proportion to value: Lin with a tuned base bid, Mcpc with the price of a click as its limit."""

import math

import numpy as np

from gaelp.arrays import Floats
from gaelp.market.baselines.objective_price import worth_within_objective
from gaelp.market.baselines.worth import AverageValue, PriorValues, ValueSource, bid_for, mean_price_micros
from gaelp.market.policy_state import KeptState
from gaelp.market.view import Action, Brief, Observation
from gaelp.types import SegmentBelief

__all__ = ["Lin", "Mcpc"]


class Lin(KeptState):
    """Bids base bid x value / average value.

    Either the base bid is given in micros, or it is the forecast price x exp(base_log) x budget share ^ share_exponent,
    so that one tuning serves campaigns of any price and budget; the average value is then learned, too.
    """

    name = "lin"
    _kept = ("values", "average")

    def __init__(
        self,
        *,
        base_bid_micros: float | None = None,
        base_log: float = 0.0,
        share_exponent: float = 0.0,
        values: ValueSource | None = None,
    ) -> None:
        self._base_bid_micros = base_bid_micros
        self._base_log = base_log
        self._share_exponent = share_exponent
        self._values = values or PriorValues()

    def begin(self, brief: Brief, belief: SegmentBelief | None = None, /) -> None:
        """Set every campaign's base bid."""
        self._brief = brief
        self._values.begin(brief, belief)
        self._average = AverageValue(brief, learned=self._base_bid_micros is None)
        self._base_micros = self._base(brief)

    def _base(self, brief: Brief) -> Floats:
        if self._base_bid_micros is not None:
            return np.full((brief.campaigns, 1), self._base_bid_micros)
        scale = math.exp(self._base_log) * brief.budget_share.astype(np.float64) ** self._share_exponent
        return np.asarray((mean_price_micros(brief, brief.price_forecast_log) * scale)[:, None], dtype=np.float64)

    def act(self, obs: Observation, /) -> Action:
        """Bid for the coming hour."""
        value_log, _ = self._values.log_value(obs)
        worth = self._base_micros * self._average.relative(value_log)
        return Action(bid_for(self._brief, obs, worth_within_objective(self._brief, obs, value_log, worth)))


class Mcpc(KeptState):
    """Bids chance of a click x what a click may cost, whatever the budget.

    Without a given limit, a click may cost what it does on average: the forecast price over the average click rate.
    Where values are estimated rather than click chances, value over the market's average replaces the click chance.
    """

    name = "mcpc"
    _kept = ("values", "average")

    def __init__(
        self, *, click_cost_micros: float | None = None, aggression: float = 0.0, values: ValueSource | None = None
    ) -> None:
        self._click_cost_micros = click_cost_micros
        self._aggression = aggression
        self._values = values or PriorValues()

    def begin(self, brief: Brief, belief: SegmentBelief | None = None, /) -> None:
        """Set what the average impression may cost every campaign."""
        self._brief = brief
        self._values.begin(brief, belief)
        self._average = AverageValue(brief, learned=False)
        self._average_bid_micros = self._average_bid(brief) * math.exp(self._aggression)

    def _average_bid(self, brief: Brief) -> Floats:
        if self._click_cost_micros is not None:
            return np.full((brief.campaigns, 1), brief.click_rate * self._click_cost_micros)
        return mean_price_micros(brief, brief.price_forecast_log)[:, None]

    def act(self, obs: Observation, /) -> Action:
        """Bid for the coming hour."""
        value_log, _ = self._values.log_value(obs)
        worth = self._average_bid_micros * self._average.relative(value_log)
        return Action(bid_for(self._brief, obs, worth_within_objective(self._brief, obs, value_log, worth)))
