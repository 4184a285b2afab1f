"""A learned policy for any market: a rule whose bids a network moves segment by segment."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from gaelp.errors import BadInput
from gaelp.market.policy_state import CHOSEN, part_of, prefixed
from gaelp.market.view import Action, Brief, Observation
from gaelp.training.segment_env import MarketPolicy, ResidualSpec, SegmentFeatures, moved, residuals
from gaelp.types import PolicyState, SegmentBelief

__all__ = ["BLOCK_ROWS", "SegmentPolicy", "act_in_blocks"]

BLOCK_ROWS = 512  # of one network call: 0.1 ms for a single campaign; 2,048 rows take 0.5 ms rather than 0.3


class SegmentPolicy:
    """Plays the best known actions of a learner; `act_on` takes rows of observations and returns their actions.

    Its state is the rule's and the residuals of the last hour.
    """

    def __init__(self, name: str, rule: MarketPolicy, spec: ResidualSpec, act_on: Callable[[Tensor], Tensor]) -> None:
        self._name = name
        self._rule, self._spec, self._act_on = rule, spec, act_on

    @property
    def name(self) -> str:
        """What reports call this policy."""
        return self._name

    def begin(self, brief: Brief, belief: SegmentBelief | None = None, /) -> None:
        """Start new episodes with what is known at launch; a belief is passed on to the rule."""
        self._rule.begin(brief, belief)
        self._features = SegmentFeatures(brief)
        self._last = np.zeros((brief.campaigns, brief.segments))

    def state(self) -> PolicyState:
        """The rule's state and the last residuals."""
        return {CHOSEN: self._last, **prefixed("rule", self._rule.state())}

    def load_state(self, brief: Brief, state: PolicyState, /) -> None:
        """Resume these campaigns."""
        last = state.get(CHOSEN, np.empty(0))
        if last.shape != (brief.campaigns, brief.segments):
            raise BadInput(
                f"state {CHOSEN} has shape {last.shape}, the brief needs {(brief.campaigns, brief.segments)}:"
                " load the rows of the campaigns that are in the brief"
            )
        self._rule.load_state(brief, part_of("rule", state))
        self._features = SegmentFeatures(brief)
        self._last = last

    def act(self, obs: Observation, /) -> Action:
        """The rule's action, moved by the network."""
        rule = self._rule.act(obs)
        rows = self._features(obs, rule.bid_micros, self._last)
        actions = act_in_blocks(self._act_on, torch.from_numpy(rows)).numpy()
        self._last = residuals(self._spec, actions, rule.bid_micros.shape)
        return moved(rule, self._last)


def act_in_blocks(act_on: Callable[[Tensor], Tensor], rows: Tensor) -> Tensor:
    """Actions of rows (N, size), the same to the bit whichever other rows there are.

    A matrix product rounds by the number of its rows: alone or among seven others a row gets other last bits than
    among many. So the network always sees blocks of the same size, the last one filled up with zeros.
    """
    missing = -len(rows) % BLOCK_ROWS
    blocks = torch.cat([rows, rows.new_zeros(missing, rows.shape[1])]) if missing else rows
    return torch.cat([act_on(block) for block in torch.split(blocks, BLOCK_ROWS)])[: len(rows)]
