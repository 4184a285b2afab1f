"""Collect experience: a learner acts in a Gymnasium vector environment, which returns every step complete."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import torch
from gymnasium.vector import AutoresetMode, VectorEnv
from torch import Tensor

from gaelp.arrays import Bools, Floats32
from gaelp.errors import BadInput, NotFinite

__all__ = ["NOTHING_DRAWN", "Act", "Collector", "Step", "open_env", "refuse_not_finite", "refuse_other_step"]

NOTHING_DRAWN = "no action was drawn that could have led to this step: call act with explore=True first"

Act = Callable[[Tensor], Tensor]


class Step(NamedTuple):
    """One step of all rows; `next_obs` of an ended episode is its last observation."""

    obs: Tensor  # (N, size) float32
    action: Tensor  # as the learner gave it
    reward: Tensor  # (N,) float32
    next_obs: Tensor  # (N, size)
    terminated: Tensor  # (N,) bool
    truncated: Tensor  # (N,) bool
    finished_returns: tuple[float, ...]  # undiscounted returns of the episodes that ended in this step


def refuse_not_finite(name: str, values: Tensor) -> None:
    """Raise NotFinite, naming the row, if a value (rows, ...) of a step is NaN or infinite; nothing is kept then."""
    # The extremes are NaN or infinite if any value is: a single pass without a flag per value.
    if all(math.isfinite(extreme.item()) for extreme in torch.aminmax(values)):
        return
    index = (~values.isfinite()).nonzero()[0].tolist()
    raise NotFinite(
        f"{name} of row {index[0]} is {values[tuple(index)].item()} (at {index}), allowed are finite numbers:"
        " fix the environment; nothing of this step was kept"
    )


def refuse_other_step(step: Step, drawn: Tensor, obs_shape: torch.Size) -> None:
    """Raise BadInput if the actions drawn last did not lead to this step, or its tensors do not fit `obs_shape`."""
    if step.action is not drawn and not torch.equal(step.action, drawn):
        raise BadInput("the step's actions are not those drawn last: observe each step before acting again")
    wanted = {"obs": obs_shape, "next_obs": obs_shape} | dict.fromkeys(
        ("reward", "terminated", "truncated"), obs_shape[:1]
    )
    for name, shape in wanted.items():
        if (given := getattr(step, name).shape) != shape:
            raise BadInput(f"{name} has shape {tuple(given)}, wanted is {tuple(shape)}: build the learner for it")


def open_env(env_id: str, count: int, **arguments: Any) -> VectorEnv[Any, Any, Any]:
    """A vector environment of any registered id that resets in the same step, as `Collector` needs."""
    kwargs = {"autoreset_mode": AutoresetMode.SAME_STEP}
    return gym.make_vec(env_id, count, vectorization_mode="sync", vector_kwargs=kwargs, **arguments)


@dataclass(frozen=True, slots=True)
class _Scale:
    """Maps -1..1 to the bounds of a Box."""

    low: Floats32
    high: Floats32

    def __call__(self, action: Floats32) -> Floats32:
        inside = np.clip(action, -1.0, 1.0)
        return np.asarray(self.low + 0.5 * (inside + 1.0) * (self.high - self.low), dtype=np.float32)


class Collector:
    """Steps a vector environment with the actions of a learner (Box actions in -1..1)."""

    def __init__(self, env: VectorEnv[Any, Any, Any], *, seed: int) -> None:
        if env.metadata.get("autoreset_mode") is not AutoresetMode.SAME_STEP:
            raise BadInput(
                f"autoreset_mode is {env.metadata.get('autoreset_mode')}, needed: SAME_STEP. Open the environment with "
                "open_env, or pass vector_kwargs={'autoreset_mode': AutoresetMode.SAME_STEP} to gymnasium.make_vec"
            )
        self.env = env
        self._scale = _scale_of(env.single_action_space)
        obs, _ = env.reset(seed=seed)
        self.obs = _tensor(obs)
        self._returns = np.zeros(env.num_envs)

    def step(self, act: Act) -> Step:
        """Act once in every row."""
        action = act(self.obs)
        raw = action.numpy()
        obs, reward, terminated, truncated, info = self.env.step(self._scale(raw) if self._scale else raw)
        ended = terminated | truncated
        following = _tensor(obs)
        next_obs = _with_final(following, ended, info)
        self._returns += reward
        finished = tuple(float(total) for total in self._returns[ended])
        self._returns[ended] = 0.0
        before, self.obs = self.obs, following
        return Step(
            obs=before,
            action=action,
            reward=torch.as_tensor(np.asarray(reward, np.float32)),
            next_obs=next_obs,
            terminated=torch.as_tensor(np.asarray(terminated)),
            truncated=torch.as_tensor(np.asarray(truncated)),
            finished_returns=finished,
        )


def _scale_of(space: gym.Space[Any]) -> _Scale | None:
    if not isinstance(space, gym.spaces.Box):
        return None
    if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
        raise BadInput(f"action bounds are {space.low} .. {space.high}: they must be finite, so wrap the environment")
    return _Scale(space.low.astype(np.float32), space.high.astype(np.float32))


def _tensor(obs: npt.NDArray[Any]) -> Tensor:
    return torch.as_tensor(np.array(obs, np.float32).reshape(len(obs), -1))


def _with_final(following: Tensor, ended: Bools, info: Mapping[str, Any]) -> Tensor:
    """The observations after the steps, with the last one of each ended episode in place of the next one's first."""
    if not ended.any():
        return following
    last = following.clone()
    final = np.stack([np.asarray(info["final_obs"][row], np.float32) for row in np.flatnonzero(ended)])
    last[torch.as_tensor(ended)] = torch.as_tensor(final.reshape(len(final), -1))
    return last
