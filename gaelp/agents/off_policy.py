"""The off-policy learner: acts, stores steps, and lets an actor-critic algorithm learn from replay.

Algorithms differ in their `OffPolicyAlgorithm`: networks, exploration and one gradient step.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from gaelp.agents.acting_network import ActingNetwork, Choice
from gaelp.agents.guarded_adam import GradientStep, GuardedAdam
from gaelp.agents.learner import BoxActions, Spaces, Update, refuse_other_state
from gaelp.agents.replay_config import OffPolicyConfig
from gaelp.agents.replay_memory import Minibatch, ReplayMemory
from gaelp.agents.value_figures import value_figures
from gaelp.errors import BadInput
from gaelp.experience.collect import Step
from gaelp.experience.saved import SavedState, copies, integer_of, number_of, tensors_of

__all__ = ["OffPolicyAlgorithm", "OffPolicyLearner", "ReplayTally", "StepInputs", "box_size"]

_SAVED = ("name", "networks", "optimisers", "memory", "counters", "generators")


class ReplayTally:
    """Collects the figures of the gradient steps of one update."""

    def __init__(self, max_norm: float) -> None:
        self._max_norm = max_norm
        self._steps: dict[str, list[GradientStep]] = defaultdict(list)
        self._figures: dict[str, float] = {}
        self._last: tuple[Tensor, Tensor] | None = None
        self.skipped: Counter[str] = Counter()

    def record(self, network: str, step: GradientStep) -> bool:
        """Count one gradient step of a network; False if it was refused."""
        if step.refused_for:
            self.skipped[f"{network}_{step.refused_for}"] += 1
            return False
        self._steps[network].append(step)
        return True

    def note(self, figures: Mapping[str, float]) -> None:
        """Keep figures by name; the last one counts."""
        self._figures.update(figures)

    def keep(self, values: Tensor, targets: Tensor) -> None:
        """Keep the critics' values (2, B) and targets (B,): figures are computed for the last minibatch only."""
        self._last = (values, targets)

    def metrics(self) -> dict[str, float]:
        """Means over the steps made; `gradient_norm` is that of the network where it is largest."""
        metrics = self._figures | (_critic_figures(*self._last) if self._last else {})
        for network, steps in self._steps.items():
            metrics[f"{network}_loss"] = _mean([step.loss for step in steps])
            metrics[f"{network}_gradient_norm"] = _mean([step.gradient_norm for step in steps])
        norms = [step.gradient_norm for steps in self._steps.values() for step in steps]
        if norms:
            metrics["gradient_norm"] = max(metrics[f"{network}_gradient_norm"] for network in self._steps)
            metrics["gradient_norm_max"] = max(norms)
            metrics["clip_fraction"] = sum(norm > self._max_norm for norm in norms) / len(norms)
        return metrics


@dataclass(frozen=True, slots=True)
class StepInputs:
    """What a gradient step needs beside its minibatch."""

    learning_rate: float
    steps_made: int  # gradient steps before this one
    generator: torch.Generator
    tally: ReplayTally


class OffPolicyAlgorithm(Protocol):
    """One algorithm: its networks, how it explores, and how it learns from one minibatch."""

    @property
    def name(self) -> str:
        """The algorithm's name, such as sac."""

    @property
    def networks(self) -> nn.Module:
        """Everything that is learned, targets included."""

    @property
    def optimisers(self) -> Mapping[str, GuardedAdam]:
        """One for each network that is learned by itself."""

    @property
    def actor(self) -> nn.Module:
        """The network that acts."""

    @property
    def acts_by(self) -> Choice:
        """How the best known actions follow from the actor's outputs."""

    def best(self, obs: Tensor) -> Tensor:
        """The best known actions (B, A)."""

    def explore(self, obs: Tensor, generator: torch.Generator, progress: float) -> Tensor:
        """Actions (B, A) that explore."""

    def learn(self, batch: Minibatch, inputs: StepInputs) -> Tensor | None:
        """Make one gradient step; returns the critics' absolute errors (B,), None if the minibatch was skipped."""


class OffPolicyLearner:
    """A `Learner` around an actor-critic: random actions at first, then some gradient steps every few steps."""

    def __init__(
        self,
        algorithm: OffPolicyAlgorithm,
        spaces: Spaces,
        config: OffPolicyConfig,
        *,
        exploring: torch.Generator,
        learning: torch.Generator,
    ) -> None:
        self.config = config
        self.algorithm = algorithm
        self._action_size = box_size(algorithm.name, spaces)
        self._exploring, self._learning = exploring, learning
        self._generators = {"exploring": exploring, "learning": learning}
        self._memory = ReplayMemory(config, spaces)
        self._progress = 0.0
        self._steps_made = 0  # gradient steps in all

    @property
    def name(self) -> str:
        """The algorithm's name."""
        return self.algorithm.name

    @torch.no_grad()
    def act(self, obs: Tensor, *, explore: bool) -> Tensor:
        """Actions (B, A) in -1..1 for obs (B, size): the best known, or random and later noisy ones to explore."""
        if not explore:
            return self.algorithm.best(self._memory.scaled(obs))
        if self._memory.warming_up:
            return torch.rand(len(obs), self._action_size, generator=self._exploring) * 2 - 1
        return self.algorithm.explore(self._memory.scaled(obs), self._exploring, self._progress)

    def acting_network(self) -> ActingNetwork:
        """The actor's network, which acts without noise."""
        return ActingNetwork(self.algorithm.actor, self.algorithm.acts_by, self._memory.normaliser)

    def observe(self, step: Step) -> None:
        """Store one step of all rows; one that is not finite is refused and changes nothing."""
        self._memory.add(step)

    def cut(self) -> None:
        """Rows are about to be reset from outside: their last steps count as truncated."""
        self._memory.cut()

    def update(self, progress: float) -> Update | None:
        """Make the gradient steps that are due: `gradient_steps` for every `train_every` steps since the warm-up."""
        rate = self.config.learning_rate.value(progress)
        self._progress = progress
        due = self._memory.due()
        if not due:
            return None
        tally = ReplayTally(self.config.max_gradient_norm)
        before = self._steps_made
        for _ in range(due):
            self._gradient_step(rate, tally)
        figures = {"learning_rate": rate, **self._memory.figures(), **tally.metrics()}
        return Update(metrics=figures, gradient_steps=self._steps_made - before, skipped=dict(tally.skipped))

    def _gradient_step(self, rate: float, tally: ReplayTally) -> None:
        batch = self._memory.draw(self._learning, self._progress)
        errors = self.algorithm.learn(batch, StepInputs(rate, self._steps_made, self._learning, tally))
        if errors is not None:
            self._steps_made += 1
            self._memory.replay.update_priorities(batch.indices, errors)

    def state(self) -> dict[str, Any]:
        """Everything needed to continue training bit for bit, as copies."""
        return {
            "name": self.name,
            "networks": copies(self.algorithm.networks.state_dict()),
            "optimisers": {name: optimiser.state() for name, optimiser in self.algorithm.optimisers.items()},
            "memory": self._memory.state(),
            "counters": {"progress": self._progress, "steps_made": self._steps_made},
            "generators": {name: generator.get_state() for name, generator in self._generators.items()},
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from `state`, which must come from a learner built alike; rates and schedules may differ."""
        refuse_other_state(state, self.name, _SAVED)
        networks = tensors_of(state["networks"], self.algorithm.networks.state_dict())
        streams = tensors_of(state["generators"], {name: own.get_state() for name, own in self._generators.items()})
        moments = _part_states(state["optimisers"], self.algorithm.optimisers)
        progress = number_of(state["counters"], "progress")
        steps_made = integer_of(state["counters"], "steps_made")
        self._memory.load_state(state["memory"])
        self.algorithm.networks.load_state_dict(networks)
        for name, optimiser in self.algorithm.optimisers.items():
            optimiser.load_state(moments[name])
        for name, generator in self._generators.items():
            generator.set_state(streams[name])
        self._progress, self._steps_made = progress, steps_made


def box_size(name: str, spaces: Spaces) -> int:
    """How many numbers an action has; discrete actions are refused, because a choice has no gradient."""
    if not isinstance(spaces.actions, BoxActions):
        raise BadInput(
            f"{name} needs continuous actions, but the actions are {spaces.actions}:"
            " choose an algorithm for discrete actions such as dqn or ppo, or offer BoxActions"
        )
    return spaces.actions.size


def _critic_figures(values: Tensor, targets: Tensor) -> dict[str, float]:
    """How large the critics' values (2, B) are, how far apart, and how well they fit their targets (B,)."""
    return value_figures(values, targets) | {"q_disagreement": (values[0] - values[1]).abs().mean().item()}


def _mean(numbers: list[float]) -> float:
    return math.fsum(numbers) / len(numbers)


def _part_states(saved: Mapping[str, SavedState], optimisers: Mapping[str, GuardedAdam]) -> Mapping[str, SavedState]:
    """The saved moments of each optimiser, checked against it."""
    if saved.keys() != optimisers.keys():
        raise BadInput(
            f"the saved state has optimisers {sorted(saved)}, this learner has {sorted(optimisers)}:"
            " load into a learner built alike"
        )
    for name, optimiser in optimisers.items():
        optimiser.checked(saved[name])
    return saved
