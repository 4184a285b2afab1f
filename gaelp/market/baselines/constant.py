"""Bids that learn nothing: one constant bid, and random bids around it."""

import numpy as np
from pydantic import Field

from gaelp.arrays import Floats, Ints, Uints
from gaelp.config.base import Frozen
from gaelp.market.baselines.bids import LaunchParameters, launch_bid_log, whole_micros
from gaelp.market.compiled import compiled
from gaelp.market.market import seeds_from
from gaelp.market.policy_state import KeptState
from gaelp.market.random import keyed, keys_of, uniform
from gaelp.market.view import Action, Brief, Observation
from gaelp.types import SegmentBelief

__all__ = ["Constant", "ConstantParameters", "Random", "RandomParameters"]


class ConstantParameters(Frozen):
    """One bid for all segments and hours."""

    launch: LaunchParameters = LaunchParameters()


class Constant(KeptState):
    """Bids the launch bid from the first hour to the last: what a campaign without any management does."""

    name = "constant"

    def __init__(self, parameters: ConstantParameters) -> None:
        self._parameters = parameters

    def begin(self, brief: Brief, _belief: SegmentBelief | None = None, /) -> None:
        """Set every campaign's bid."""
        bid_micros = whole_micros(launch_bid_log(brief, self._parameters.launch))
        self._action = Action(np.repeat(bid_micros[:, None], brief.segments, axis=1))

    def act(self, _obs: Observation, /) -> Action:
        """Bid for the coming hour."""
        return self._action


class RandomParameters(Frozen):
    """Log-uniform bids around a constant one."""

    launch: LaunchParameters = LaunchParameters()
    log_width: float = Field(default=1.0, ge=0.5, le=2, description="largest log distance from the constant bid")


class Random(KeptState):
    """Draws a new random bid for each segment and hour: the floor that any rule has to beat.

    A bid depends on the campaign's key, the hour and the segment alone, so that campaigns can be split and joined.
    """

    name = "random"
    _kept = ("key",)

    def __init__(self, parameters: RandomParameters, seed: int = 0) -> None:
        self._parameters = parameters
        self._seed = seed

    def begin(self, brief: Brief, _belief: SegmentBelief | None = None, /) -> None:
        """Set the middle of every campaign's bids."""
        self._key = keys_of(seeds_from(self._seed, brief.campaigns))
        self._middle_log = np.repeat(launch_bid_log(brief, self._parameters.launch)[:, None], brief.segments, axis=1)

    def act(self, obs: Observation, /) -> Action:
        """Bid for the coming hour."""
        distance = _drawn(self._key, obs.hour, self._middle_log.shape[1])
        return Action(whole_micros(self._middle_log + self._parameters.log_width * distance))


@compiled
def _drawn(key: Uints, hour: Ints, segments: int) -> Floats:
    """Numbers between -1 and 1, (N, S)."""
    drawn = np.empty((len(key), segments))
    for n in range(len(key)):
        for s in range(segments):
            drawn[n, s] = 2.0 * uniform(keyed(key[n], 0, hour[n], s)) - 1.0
    return drawn
