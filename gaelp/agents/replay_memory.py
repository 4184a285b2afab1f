"""The memory of a learner that replays: transitions, and the scales of observations and rewards.

Transitions are stored as the environment gave them and scaled when drawn, so all of a minibatch is on one scale.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from gaelp.agents.learner import BoxActions, DiscreteActions, Spaces
from gaelp.agents.replay_config import ReplayConfig
from gaelp.errors import BadInput
from gaelp.experience.collect import Step, refuse_not_finite
from gaelp.experience.normalise import ObservationNormaliser, RewardScaler
from gaelp.experience.prioritized import PrioritizedReplay
from gaelp.experience.replay import ReplayBuffer, ReplaySource
from gaelp.experience.saved import SavedState, below, integer_of, prefixed
from gaelp.experience.value_guard import FieldSpec

__all__ = ["Minibatch", "ReplayMemory"]


class Minibatch(NamedTuple):
    """B transitions on the scale of the networks; a target is `rewards + discounts * value after next_obs`."""

    obs: Tensor  # (B, size)
    actions: Tensor  # (B, A) continuous, or (B,) discrete
    rewards: Tensor  # (B,)
    next_obs: Tensor  # (B, size)
    discounts: Tensor  # (B,)
    weights: Tensor  # (B,)
    indices: Tensor  # (B,) places in the replay buffer


class ReplayMemory:
    """Stores steps of all rows, returns minibatches, and counts the gradient steps that are due."""

    def __init__(self, config: ReplayConfig, spaces: Spaces) -> None:
        self._config = config
        low, high = config.reward_range or (-math.inf, math.inf)
        fields = {
            "obs": FieldSpec((spaces.observation_size,)),
            "actions": _action_field(spaces.actions),
            "rewards": FieldSpec(value_low=low, value_high=high),
        }
        self._buffer = ReplayBuffer(
            fields,
            capacity=config.replay_capacity,
            envs=spaces.rows,
            gamma=config.gamma,
            n_step=config.n_step,
            on_refused=config.on_refused,
        )
        drawn = config.priorities
        self.replay: ReplaySource = (
            PrioritizedReplay(self._buffer, alpha=drawn.alpha, beta_start=drawn.beta_start) if drawn else self._buffer
        )
        self._normaliser = ObservationNormaliser((spaces.observation_size,)) if config.normalise_obs else None
        self._scaler = RewardScaler((spaces.rows,), gamma=config.gamma) if config.scale_rewards else None
        self.waiting = 0  # steps since the last update

    @property
    def warming_up(self) -> bool:
        """Whether there are too few transitions to learn from."""
        return self.replay.size < self._config.learning_starts

    @property
    def normaliser(self) -> ObservationNormaliser | None:
        """The scale of observations, if they are scaled."""
        return self._normaliser

    def add(self, step: Step) -> None:
        """Store one step of all rows; one that is not finite is refused and changes nothing."""
        for name in ("obs", "reward", "next_obs"):
            refuse_not_finite(name, getattr(step, name))
        ended = step.terminated | step.truncated
        given = {"obs": step.obs, "actions": step.action, "rewards": step.reward, "next_obs": step.next_obs}
        self.replay.add(given | {"ended": ended, "terminated": step.terminated})
        if self._normaliser:
            self._normaliser.observe(step.obs)
        if self._scaler:
            # A reward that was left out because of its range must not change the scale either.
            allowed = step.reward.clamp(*self._config.reward_range) if self._config.reward_range else step.reward
            self._scaler.observe(allowed.unsqueeze(0), ended.unsqueeze(0))
        if not self.warming_up:
            self.waiting += 1

    def cut(self) -> None:
        """End open episodes, which are not continued: transitions that wait for more steps are completed."""
        self.replay.cut()
        if self._scaler:
            self._scaler.cut()

    def due(self) -> int:
        """How many gradient steps are due for the steps stored since the last call."""
        rounds, self.waiting = divmod(self.waiting, self._config.train_every)
        return rounds * self._config.gradient_steps

    def draw(self, generator: torch.Generator, progress: float) -> Minibatch:
        """A minibatch on the present scales."""
        batch = self.replay.sample(self._config.batch_size, generator, progress)
        return Minibatch(
            obs=self.scaled(batch["obs"]),
            actions=batch["actions"],
            rewards=self._scaler(batch["rewards"]) if self._scaler else batch["rewards"],
            next_obs=self.scaled(batch["next_obs"]),
            discounts=batch["discounts"],
            weights=batch["weights"],
            indices=batch["indices"],
        )

    def scaled(self, obs: Tensor) -> Tensor:
        """Observations on the scale of the networks; this never changes the scale."""
        return self._normaliser(obs) if self._normaliser else obs

    def figures(self) -> dict[str, float]:
        """How full the replay buffer is, and how many steps were left out because of their values."""
        return {"replay_size": float(self.replay.size), "refused_steps": float(self._buffer.refused_steps)}

    def state(self) -> SavedState:
        """Everything remembered, as copies."""
        state: SavedState = {"waiting": self.waiting}
        for name, part in self.parts().items():
            state |= prefixed(name, part.state())
        return state

    def load_state(self, state: SavedState) -> None:
        """Continue from `state`, which must come from a memory with the same settings."""
        waiting = integer_of(state, "waiting")
        wanted = {"waiting", *self.parts()}
        if other := {name.split(".")[0] for name in state} ^ wanted:
            raise BadInput(
                f"the saved memory and this one differ in {sorted(other)}: load into a learner with the same"
                " normalise_obs and scale_rewards"
            )
        for name, part in self.parts().items():
            part.load_state(below(name, state))
        self.waiting = waiting

    def parts(self) -> dict[str, ReplaySource | ObservationNormaliser | RewardScaler]:
        """By name, what saves and restores itself: all of the memory but `waiting`."""
        optional = {"normaliser": self._normaliser, "scaler": self._scaler}
        return {"replay": self.replay} | {name: part for name, part in optional.items() if part}


def _action_field(actions: BoxActions | DiscreteActions) -> FieldSpec:
    if isinstance(actions, BoxActions):
        return FieldSpec((actions.size,), value_low=-1, value_high=1)
    return FieldSpec(dtype=torch.int64, value_low=0, value_high=actions.count - 1)
