"""The environment that an algorithm of stable-baselines3 is built with: spaces and the number of rows only."""

import math
from typing import Any, NoReturn

import gymnasium as gym
import numpy as np
from stable_baselines3.common.vec_env import VecEnv

from gaelp.agents.learner import BoxActions, Spaces
from gaelp.errors import BadInput

__all__ = ["SpacesOnly"]


class SpacesOnly(VecEnv):
    """A vector environment that is never stepped."""

    def __init__(self, spaces: Spaces) -> None:
        obs = gym.spaces.Box(-math.inf, math.inf, (spaces.observation_size,), np.float32)
        super().__init__(spaces.rows, obs, _action_space(spaces))

    def get_attr(self, *_: Any, **__: Any) -> list[Any]:
        """No row has any attribute; stable-baselines3 asks for the rendering mode."""
        return [None] * self.num_envs

    def env_is_wrapped(self, *_: Any, **__: Any) -> list[bool]:
        """No row is wrapped."""
        return [False] * self.num_envs

    def close(self) -> None:
        """Nothing is open."""

    def reset(self, *_: Any, **__: Any) -> NoReturn:
        """Refused, like everything that needs an environment."""
        raise BadInput("these are spaces without an environment: let GAELP's loop step the environment")

    step_async = step_wait = set_attr = env_method = reset


def _action_space(spaces: Spaces) -> gym.Space[Any]:
    actions = spaces.actions
    if isinstance(actions, BoxActions):
        return gym.spaces.Box(-1.0, 1.0, (actions.size,), np.float32)
    return gym.spaces.Discrete(actions.count)
