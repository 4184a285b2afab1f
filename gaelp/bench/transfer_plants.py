"""Agents that learned one product by heart, to plant before the transfer rule of gate 4.

Both are a good rule that does as well as ever at the source, and there nearly nothing sets them apart from an agent
that has learned how to bid.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from gaelp.arrays import Floats
from gaelp.market.baselines.bids import Bidder
from gaelp.market.baselines.episodes import training_seeds
from gaelp.market.market import Market
from gaelp.market.view import Action, Brief, Observation
from gaelp.types import PolicyState, SegmentBelief

__all__ = ["MemorisedBids", "MemorisedRates", "memorise_bids"]

_QUANTILES = (0.1, 0.9)


@dataclass
class MemorisedRates:
    """A rule that takes the click and conversion rates of every product for those of the source.

    This ruins profit, where the value of a click decides what it may cost. It does nothing to value under a budget,
    where only the values of segments relative to each other count.
    """

    rule: Bidder
    click_rate: float
    conversion_rate: float
    name: str = "rates of the source"

    def begin(self, brief: Brief, belief: SegmentBelief | None = None, /) -> None:
        """Begin as at the source."""
        self.rule.begin(self._as_at_the_source(brief), belief)

    def act(self, obs: Observation, /) -> Action:
        """The rule's action."""
        return self.rule.act(obs)

    def state(self) -> PolicyState:
        """The rule's state."""
        return self.rule.state()

    def load_state(self, brief: Brief, state: PolicyState, /) -> None:
        """Resume the rule."""
        self.rule.load_state(self._as_at_the_source(brief), state)

    def _as_at_the_source(self, brief: Brief) -> Brief:
        return replace(brief, click_rate=self.click_rate, conversion_rate=self.conversion_rate)


@dataclass
class MemorisedBids:
    """A rule whose bids for a segment stay within what it usually bid for such segments at the source, in micros."""

    rule: Bidder
    lowest_log: Floats  # (P,) by persona
    highest_log: Floats
    name: str = "bids of the source"
    _brief: Brief = field(init=False)

    def begin(self, brief: Brief, belief: SegmentBelief | None = None, /) -> None:
        """Begin as the rule does."""
        self._brief = brief
        self.rule.begin(brief, belief)

    def act(self, obs: Observation, /) -> Action:
        """The rule's action within the bids that are known by heart."""
        action, persona = self.rule.act(obs), self._brief.persona
        bid_log = np.log(np.maximum(action.bid_micros, 1))
        known = np.clip(bid_log, self.lowest_log[persona], self.highest_log[persona])
        return replace(action, bid_micros=np.rint(np.exp(known)).astype(np.int64))

    def state(self) -> PolicyState:
        """The rule's state."""
        return self.rule.state()

    def load_state(self, brief: Brief, state: PolicyState, /) -> None:
        """Resume the rule."""
        self._brief = brief
        self.rule.load_state(brief, state)


def memorise_bids(market: Market, rule: Bidder, *, campaigns: int = 256, seed: int = 1) -> MemorisedBids:
    """Learn by heart what a rule bids at the source: the middle eight tenths for each persona, in training episodes."""
    obs = market.reset(training_seeds(seed, campaigns))
    brief = market.brief
    rule.begin(brief)
    bids = []
    while not market.done:
        action = rule.act(obs)
        bids.append(np.log(np.maximum(action.bid_micros, 1)))
        obs, _ = market.step(action)
    logs = np.stack(bids)  # (T, N, S)
    of_persona = [logs[:, brief.persona == persona] for persona in range(len(brief.persona_traits))]
    ends = np.array([np.quantile(each if each.size else logs, _QUANTILES) for each in of_persona])
    return MemorisedBids(rule, ends[:, 0], ends[:, 1])
