"""Settings for a learner that resumes with another learning rate or smaller minibatches."""

import math
from typing import Any, TypeVar

from gaelp.agents.a2c import A2cConfig
from gaelp.agents.ppo import PpoConfig
from gaelp.agents.replay_config import ReplayConfig
from gaelp.agents.schedules import Schedule
from gaelp.config.base import Frozen
from gaelp.errors import Refused

__all__ = ["changed", "scaled_a2c", "scaled_ppo", "scaled_replay", "scaled_schedule", "shrunk"]

Model = TypeVar("Model", bound=Frozen)
Replaying = TypeVar("Replaying", bound=ReplayConfig)


def scaled_schedule(schedule: Schedule, factor: float) -> Schedule:
    """The schedule with all its values times `factor`."""
    ends = {name: getattr(schedule, name) * factor for name in ("start", "end") if hasattr(schedule, name)}
    return changed(schedule, **ends)


def shrunk(batch_size: int, share: float, *, at_least: int = 1) -> int:
    """A minibatch of `share` of the rows; Refused if that is too few."""
    size = math.floor(batch_size * share)
    if size < at_least:
        raise Refused(
            f"batch_size={batch_size} cannot shrink to {share} of it, allowed is {at_least} and more: free memory"
            " elsewhere, such as in replay_capacity, the network or the number of rows"
        )
    return size


def scaled_ppo(config: PpoConfig, *, learning_rate: float, minibatch: float) -> PpoConfig:
    """Smaller minibatches: there are more of them."""
    rate = scaled_schedule(config.learning_rate, learning_rate)
    return changed(config, learning_rate=rate, minibatches=math.ceil(config.minibatches / minibatch))


def scaled_a2c(config: A2cConfig, *, learning_rate: float, minibatch: float) -> A2cConfig:
    """A2C still makes one gradient step per collection; only the pieces it is computed in shrink."""
    rate = scaled_schedule(config.learning_rate, learning_rate)
    return changed(config, learning_rate=rate, pieces=math.ceil(config.pieces / minibatch))


def scaled_replay(config: Replaying, *, learning_rate: float, minibatch: float) -> Replaying:
    """The minibatch drawn from replay shrinks; how often one is drawn stays."""
    rate = scaled_schedule(config.learning_rate, learning_rate)
    return changed(config, learning_rate=rate, batch_size=shrunk(config.batch_size, minibatch))


def changed(config: Model, **changes: Any) -> Model:
    """The config with other values, checked again."""
    return type(config)(**{**dict(config), **changes})
