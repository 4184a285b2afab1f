"""Where a learner trains and how it is judged: what the loop needs to know of an environment, and nothing else."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import gymnasium as gym
import numpy as np
from gymnasium.vector import VectorEnv

from gaelp.agents.learner import BoxActions, DiscreteActions, Spaces
from gaelp.arrays import Floats
from gaelp.errors import BadInput
from gaelp.experience.collect import Act, Collector, open_env, refuse_not_finite

__all__ = ["Arena", "GymArena", "Round", "round_seed"]

Rewards = Floats
OpenEnv = Callable[[int], VectorEnv[Any, Any, Any]]

_EPISODE_STEPS_MAX = 100_000  # a hundred times what the longest usual tasks take


@dataclass(frozen=True, slots=True)
class Round:
    """New episodes for one round.

    `reward` returns the mean reward of the episodes that ended; without it, the loop averages what it collected.
    """

    task: str
    collector: Collector
    steps: int
    reward: Callable[[], float] | None = None


class Arena(Protocol):
    """A round depends only on its number and on what was recorded before it, so training can resume at any round."""

    @property
    def spaces(self) -> Spaces:
        """What the learner is built for."""
        ...

    def begin(self, number: int) -> Round:
        """Begin round `number` from seeds of its own."""
        ...

    def validate(self, act: Act) -> Rewards:
        """Rewards of the validation episodes, the same ones each time, (episodes,)."""
        ...

    def figures(self, rewards: Rewards) -> Mapping[str, float]:
        """Further figures of rewards in those episodes, for the goals of training."""
        ...

    def reference(self) -> Rewards | None:
        """Rewards in those episodes of what plays without learning; None if nothing does."""
        ...

    def record(self, act: Act) -> Mapping[str, float]:
        """Evaluate the learner where that decides what later rounds play; returns figures to report."""
        ...

    def state(self) -> dict[str, Any]:
        """What `record` has led to so far, as plain data."""
        ...

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from `state`."""
        ...


def round_seed(seed: int, number: int) -> int:
    """The seed of one round: no two rounds, and no two runs, have episodes in common."""
    return int(np.random.SeedSequence((seed, number)).generate_state(1, np.uint32)[0])


class GymArena:
    """Any Gymnasium environment, judged by the returns of whole episodes.

    It is named by its id, or opened by a function that is given the number of rows: a native vector environment, for
    instance, one with arguments, or one whose rows run in processes of their own. It must reset in the
    same step (`AutoresetMode.SAME_STEP`), so that no step of an episode is lost.
    """

    def __init__(self, env: str | OpenEnv, *, rows: int, steps_per_round: int, seed: int, episodes: int = 20) -> None:
        least = {"rows": rows, "steps_per_round": steps_per_round, "episodes": episodes - 1}
        for name, count in least.items():
            if count < 1:
                raise BadInput(f"{name} of {env!r} is too small: rows and steps start at 1, episodes to judge by at 2")
        self._open = partial(open_env, env) if isinstance(env, str) else env
        self._seed, self._steps, self._episodes = seed, steps_per_round, episodes
        self._env = self._open(rows)
        self._spaces = _spaces(self._env, rows)
        self._task = env if isinstance(env, str) else _name_of(self._env)

    @property
    def spaces(self) -> Spaces:
        """What the learner is built for."""
        return self._spaces

    def begin(self, number: int) -> Round:
        """Reset all rows; episodes that are open when the round ends are not continued."""
        collector = Collector(self._env, seed=round_seed(self._seed, number))
        return Round(self._task, collector, self._steps)

    def validate(self, act: Act) -> Rewards:
        """One return a row, always from the same seeds."""
        env = self._open(self._episodes)
        collector = Collector(env, seed=round_seed(self._seed, 2**31))
        returns = np.full(self._episodes, np.nan)
        total = np.zeros(self._episodes)
        for _ in range(_EPISODE_STEPS_MAX):
            step = collector.step(act)
            refuse_not_finite("reward", step.reward)
            total += step.reward.numpy()
            ended = (step.terminated | step.truncated).numpy()
            first = ended & np.isnan(returns)
            returns[first] = total[first]
            total[ended] = 0.0
            if not np.isnan(returns).any():
                env.close()
                return returns
        raise BadInput(
            f"{int(np.isnan(returns).sum())} of {self._episodes} validation episodes of {self._task} did not end within"
            f" {_EPISODE_STEPS_MAX} steps: wrap it in gymnasium.wrappers.TimeLimit, or give max_episode_steps its id"
        )

    def figures(self, rewards: Rewards) -> Mapping[str, float]:  # noqa: ARG002 - see Arena
        """Returns have no scale of their own."""
        return {}

    def reference(self) -> Rewards | None:
        """Nothing plays without learning."""
        return None

    def record(self, act: Act) -> Mapping[str, float]:  # noqa: ARG002 - see Arena
        """Every round is alike."""
        return {}

    def state(self) -> dict[str, Any]:
        """Nothing is remembered."""
        return {}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Nothing is remembered."""


def _name_of(env: VectorEnv[Any, Any, Any]) -> str:
    return env.spec.id if env.spec is not None else type(env).__name__


def _spaces(env: VectorEnv[Any, Any, Any], rows: int) -> Spaces:
    if env.num_envs != rows:
        raise BadInput(f"{rows} rows were asked for, the environment has {env.num_envs}: open as many as are asked for")
    obs, action = env.single_observation_space, env.single_action_space
    size = int(np.prod(obs.shape)) if obs.shape is not None else 0
    if size and isinstance(action, gym.spaces.Discrete) and action.start == 0:
        return Spaces(size, DiscreteActions(int(action.n)), rows)
    if size and isinstance(action, gym.spaces.Box) and len(action.shape) == 1:
        return Spaces(size, BoxActions(int(action.shape[0])), rows)
    raise BadInput(
        f"observations are {obs} and actions {action}: learners take vectors of numbers, and give one of several"
        " choices, counted from 0, or a vector of numbers. Wrap the environment."
    )
