"""Learners that learn only from what their present policy did: what PPO and A2C share, all but the learning itself."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, model_validator
from torch import Tensor

from gaelp.agents.acting_network import ActingNetwork, Choice
from gaelp.agents.actor_critic import ActorCritic
from gaelp.agents.collection import Collected, Collection
from gaelp.agents.gradient_step import OptimizerSpec, Stepper, StepResult
from gaelp.agents.learner import Spaces, Update, random_streams, refuse_other_state
from gaelp.agents.networks import NetworkSpec
from gaelp.agents.schedules import ConstantSchedule, Schedule, refuse_negative
from gaelp.config.base import Frozen
from gaelp.experience.collect import Step
from gaelp.experience.saved import tensor_of
from gaelp.experience.transitions import Batch

__all__ = ["OnPolicyConfig", "OnPolicyLearner", "Tally", "with_normalised_advantages"]

_SAVED = ("name", "parameters", "moments", "collection", "generators")


class OnPolicyConfig(Frozen):
    """Settings of PPO and A2C alike; without another reason a default is that of stable-baselines3."""

    network: NetworkSpec = Field(default=NetworkSpec(), description="of actor and critic each")
    steps_per_update: PositiveInt = Field(description="steps of every row that are collected before each update")
    gamma: float = Field(default=0.99, ge=0, le=1)
    gae_lambda: float = Field(default=0.95, ge=0, le=1, description="0 trusts the critic, 1 the rewards")
    learning_rate: Schedule
    entropy_weight: Schedule = ConstantSchedule(start=0.0)
    value_weight: NonNegativeFloat = Field(default=0.5, description="of the critic's loss beside the policy's")
    max_gradient_norm: PositiveFloat = 0.5
    optimizer: OptimizerSpec
    normalise_advantages: bool
    log_std_start: float = Field(
        default=-0.5, ge=-5, le=2, description="for actions in -1..1: most draws stay inside, both bounds are tried"
    )
    normalise_obs: bool = Field(default=False, description="off: the reference tasks are of a common scale")
    scale_rewards: bool = Field(default=False, description="off: changes what a clipped value or its loss means")
    fast_gradients: bool = Field(default=True, description="derived by hand, 1.2 times as fast; off: autograd's")

    @model_validator(mode="after")
    def _schedules_are_not_negative(self) -> Self:
        refuse_negative(self)
        return self


class OnPolicyLearner(ABC):
    """Acts, collects and saves its state; a subclass defines how it learns from a collection."""

    name: ClassVar[str]

    def __init__(self, spaces: Spaces, config: OnPolicyConfig, *, seed: int) -> None:
        weights, acting, self._shuffling = random_streams(seed)
        self._generators = {"acting": acting, "shuffling": self._shuffling}
        self.networks = ActorCritic(
            spaces, config.network, log_std_start=config.log_std_start, fast=config.fast_gradients, generator=weights
        )
        self._stepper = Stepper(self.networks, config.optimizer, max_gradient_norm=config.max_gradient_norm)
        self._collection = Collection(
            spaces,
            self.networks,
            length=config.steps_per_update,
            gamma=config.gamma,
            normalise_obs=config.normalise_obs,
            scale_rewards=config.scale_rewards,
            generator=acting,
        )

    def act(self, obs: Tensor, *, explore: bool) -> Tensor:
        """Actions for observations (rows, size), drawn from the policy or the likeliest; continuous ones in -1..1."""
        return self._collection.act(obs, explore=explore)

    def acting_network(self) -> ActingNetwork:
        """The policy's network, which acts without exploring."""
        choice: Choice = "likeliest" if self.networks.log_std is None else "clamped"
        return ActingNetwork(self.networks.actor, choice, self._collection.normaliser)

    def observe(self, step: Step) -> None:
        """Store the step that the actions drawn last led to; BadInput if it is not finite or not theirs."""
        self._collection.observe(step)

    def cut(self) -> None:
        """Rows are about to be reset from outside: what is collected stays, its last steps count as truncated."""
        self._collection.cut()

    def update(self, progress: float) -> Update | None:
        """Learn once `steps_per_update` steps are collected."""
        return self._learn(self._collection.take(), progress) if self._collection.full else None

    @abstractmethod
    def _learn(self, collected: Collected, progress: float) -> Update:
        """Improve policy and critic."""

    def _action_spread(self) -> dict[str, float]:
        """The mean standard deviation of continuous actions; nothing for discrete ones."""
        log_std = self.networks.log_std
        return {} if log_std is None else {"action_std": log_std.detach().exp().mean().item()}

    def state(self) -> dict[str, Any]:
        """Everything needed to continue training bit for bit, as copies."""
        return {
            "name": self.name,
            **self._stepper.state(),
            "collection": self._collection.state(),
            "generators": {name: generator.get_state() for name, generator in self._generators.items()},
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from `state`, which must come from a learner built alike; rates and schedules may differ."""
        refuse_other_state(state, self.name, _SAVED)
        drawn = {name: tensor_of(state["generators"], name, own.get_state()) for name, own in self._generators.items()}
        self._collection.load_state(state["collection"])
        self._stepper.load_state(state)
        for name, generator in self._generators.items():
            generator.set_state(drawn[name])


class Tally:
    """Collects the figures of the gradient steps of one update."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._applied: list[tuple[float, ...]] = []
        self.skipped = {"gradient": 0, "loss": 0}

    def add(self, figures: Sequence[float], outcome: StepResult) -> None:
        """Count a step: its figures in the order of the names if it was made, else why not."""
        if outcome.refused:
            self.skipped[outcome.refused] += 1
        else:
            self._applied.append((*figures, outcome.gradient_norm))

    def update(self, **further: float) -> Update:
        """The means over the steps that were made, and the largest gradient norm, beside `further` metrics."""
        metrics = dict(further)
        if self._applied:
            columns = dict(zip((*self._names, "gradient_norm"), zip(*self._applied, strict=True), strict=True))
            metrics |= {name: math.fsum(column) / len(column) for name, column in columns.items()}
            metrics["gradient_norm_max"] = max(columns["gradient_norm"])
        return Update(metrics, gradient_steps=len(self._applied), skipped=self.skipped)


def with_normalised_advantages(rows: Batch) -> Batch:
    """The rows with advantages of mean 0 and standard deviation 1; a single row stays as it is."""
    if rows.rows < 2:
        return rows
    advantages = rows["advantages"]
    scaled = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    return Batch({**rows.tensors, "advantages": scaled})
