"""A learned policy for any market: a rule whose bids a network moves segment by segment."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from gaelp.market.view import Action, Brief, Observation
from gaelp.training.segment_env import MarketPolicy, ResidualSpec, SegmentFeatures, moved, residuals

__all__ = ["SegmentPolicy"]


class SegmentPolicy:
    """Plays the best known actions of a learner; `act_on` takes rows of observations and returns their actions."""

    def __init__(self, name: str, rule: MarketPolicy, spec: ResidualSpec, act_on: Callable[[Tensor], Tensor]) -> None:
        self._name = name
        self._rule, self._spec, self._act_on = rule, spec, act_on

    @property
    def name(self) -> str:
        """What reports call this policy."""
        return self._name

    def begin(self, brief: Brief, /) -> None:
        """Start new episodes with what is known at launch."""
        self._rule.begin(brief)
        self._features = SegmentFeatures(brief)
        self._last = np.zeros((brief.campaigns, brief.segments))

    def act(self, obs: Observation, /) -> Action:
        """The rule's action, moved by the network."""
        rule = self._rule.act(obs)
        rows = self._features(obs, rule.bid_micros, self._last)
        actions = self._act_on(torch.from_numpy(rows)).numpy()
        self._last = residuals(self._spec, actions, rule.bid_micros.shape)
        return moved(rule, self._last)
