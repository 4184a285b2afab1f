"""Bids that learn nothing: one constant bid, and random bids around it."""

import numpy as np
from pydantic import Field

from gaelp.config.base import Frozen
from gaelp.market.baselines.bids import LaunchParameters, launch_bid_log, whole_micros
from gaelp.market.view import Action, Brief, Observation

__all__ = ["Constant", "ConstantParameters", "Random", "RandomParameters"]


class ConstantParameters(Frozen):
    """One bid for all segments and hours."""

    launch: LaunchParameters = LaunchParameters()


class Constant:
    """Bids the launch bid from the first hour to the last: what a campaign without any management does."""

    name = "constant"

    def __init__(self, parameters: ConstantParameters) -> None:
        self._parameters = parameters

    def begin(self, brief: Brief, /) -> None:
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


class Random:
    """Draws a new random bid for each segment and hour: the floor that any rule has to beat."""

    name = "random"

    def __init__(self, parameters: RandomParameters, seed: int = 0) -> None:
        self._parameters = parameters
        self._seed = seed

    def begin(self, brief: Brief, /) -> None:
        """Set the middle of every campaign's bids."""
        self._rng = np.random.default_rng(self._seed)
        self._middle_log = np.repeat(launch_bid_log(brief, self._parameters.launch)[:, None], brief.segments, axis=1)

    def act(self, _obs: Observation, /) -> Action:
        """Bid for the coming hour."""
        width = self._parameters.log_width
        return Action(whole_micros(self._middle_log + self._rng.uniform(-width, width, self._middle_log.shape)))
