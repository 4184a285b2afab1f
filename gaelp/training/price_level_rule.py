"""A rule without a heuristic: bid each segment's running price level. Whatever does better has been learned."""

import numpy as np

from gaelp.market.policy_state import KeptState
from gaelp.market.view import Action, Brief, Observation
from gaelp.types import SegmentBelief

__all__ = ["PriceLevelRule"]


class PriceLevelRule(KeptState):
    """Bids the observed price level, whatever the value and the money left."""

    name = "price level"

    def begin(self, brief: Brief, _belief: SegmentBelief | None = None, /) -> None:
        """Nothing is remembered."""

    def act(self, obs: Observation, /) -> Action:
        """The running price level of every segment."""
        return Action(np.rint(np.exp(obs.price_level_log.astype(np.float64))).astype(np.int64))
