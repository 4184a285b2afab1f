"""The contract of every learner: act, observe steps, update once there are enough, save and restore.

Learners see rows. A row is one environment of a vector environment, or one segment of a campaign where a policy is
shared across segments; a learner cannot tell which.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from gaelp.errors import BadInput
from gaelp.experience.collect import Step

__all__ = ["BoxActions", "DiscreteActions", "Learner", "Spaces", "Update", "random_streams", "refuse_other_state"]


@dataclass(frozen=True, slots=True)
class DiscreteActions:
    """One of `count` choices; actions are int64 of shape (rows,)."""

    count: int


@dataclass(frozen=True, slots=True)
class BoxActions:
    """`size` numbers in -1..1; actions are float32 of shape (rows, size). An environment with other bounds rescales."""

    size: int


@dataclass(frozen=True, slots=True)
class Spaces:
    """The sizes a learner is built for: observations, actions, and rows side by side."""

    observation_size: int
    actions: DiscreteActions | BoxActions
    rows: int


@dataclass(frozen=True, slots=True)
class Update:
    """The outcome of one update: losses and health figures by name, and how many gradient steps were made."""

    metrics: Mapping[str, float]
    gradient_steps: int
    skipped: Mapping[str, int] = field(default_factory=dict)  # guardrail -> how many minibatches it skipped


class Learner(Protocol):
    """An algorithm with its networks, optimiser and memory; deterministic given its seed and its inputs."""

    @property
    def name(self) -> str:
        """The algorithm's name, such as ppo."""
        ...

    def act(self, obs: Tensor, *, explore: bool) -> Tensor:
        """Return actions for all rows: explored ones while training, the best known otherwise."""
        ...

    def observe(self, step: Step) -> None:
        """Record the step that the last explored actions led to."""
        ...

    def cut(self) -> None:
        """Prepare for a reset from outside, which breaks off the current episodes.

        The last step of every row counts as truncated; actions drawn but not yet observed are dropped.
        """
        ...

    def update(self, progress: float) -> Update | None:
        """Learn if enough steps are collected, else return None; `progress` (0..1) drives the schedules."""
        ...

    def state(self) -> dict[str, Any]:
        """Return everything that determines further training: tensors, numbers and strings only."""
        ...

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from `state` bit for bit."""
        ...


def random_streams(seed: int) -> tuple[torch.Generator, torch.Generator, torch.Generator]:
    """Return independent generators for the first weights, for actions, and for draws during learning."""
    words = np.random.SeedSequence(seed).generate_state(3, np.uint64)
    weights, acting, learning = (torch.Generator().manual_seed(int(word)) for word in words)
    return weights, acting, learning


def refuse_other_state(state: Mapping[str, Any], name: str, wanted: Collection[str]) -> None:
    """Raise BadInput unless the saved state is of this algorithm and has exactly the wanted parts."""
    if state.keys() != set(wanted):
        raise BadInput(
            f"the saved state has {sorted(state)}, wanted is {sorted(wanted)}: load into a learner built alike"
        )
    if state["name"] != name:
        raise BadInput(f"the saved state is of {state['name']!r}, this learner is {name!r}: build that one")
