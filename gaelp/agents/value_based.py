"""The value-based learner: everything that DQN and QR-DQN share, which is all but the loss."""

import copy
import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gaelp.agents.acting_network import ActingNetwork
from gaelp.agents.action_values import ActionValues, bellman_targets, epsilon_greedy, numbers_of
from gaelp.agents.guarded_adam import GradientStep, GuardedAdam
from gaelp.agents.learner import DiscreteActions, Spaces, Update, random_streams, refuse_other_state
from gaelp.agents.networks import soft_update
from gaelp.agents.replay_config import ValueBasedConfig
from gaelp.agents.replay_memory import Minibatch, ReplayMemory
from gaelp.agents.value_figures import value_figures
from gaelp.errors import BadInput
from gaelp.experience.collect import Step
from gaelp.experience.normalise import ObservationNormaliser, RewardScaler
from gaelp.experience.replay import ReplaySource
from gaelp.experience.saved import copies, integer_of, number_of, tensors_of

__all__ = ["RowLosses", "ValueLearner", "ValueLoss"]


_ALWAYS_SAVED = ("name", "online", "target", "counters", "generators")


class RowLosses(NamedTuple):
    """The loss of each row of a minibatch, and its priority in replay; both (B,)."""

    losses: Tensor
    priorities: Tensor


@dataclass(frozen=True, slots=True)
class ValueLoss:
    """What differs between value-based algorithms."""

    name: str
    numbers: int  # per action: K
    losses: Callable[[Tensor, Tensor], RowLosses]  # of predicted and target (B, K)


class _Learned(NamedTuple):
    """The result of one minibatch: the gradient step, and the predictions and targets (B, K) behind it."""

    step: GradientStep
    predicted: Tensor
    target: Tensor


class ValueLearner:
    """Acts epsilon-greedily, replays transitions and moves its values towards Bellman targets."""

    def __init__(self, spaces: Spaces, config: ValueBasedConfig, objective: ValueLoss, *, seed: int) -> None:
        if not isinstance(spaces.actions, DiscreteActions):
            raise BadInput(
                f"{objective.name} needs discrete actions, but the actions are {spaces.actions}:"
                " choose an algorithm for continuous actions such as sac or td3, or offer DiscreteActions"
            )
        self.config = config
        self._objective = objective
        self._actions = spaces.actions.count
        weights, self._exploring, self._sampling = random_streams(seed)
        self._generators = {"exploring": self._exploring, "sampling": self._sampling}
        self.online = ActionValues(
            spaces.observation_size,
            actions=self._actions,
            numbers=objective.numbers,
            spec=config.network,
            dueling=config.dueling,
            generator=weights,
        )
        self._target = copy.deepcopy(self.online).requires_grad_(requires_grad=False)
        self._optimizer = GuardedAdam(self.online.parameters(), max_norm=config.max_gradient_norm)
        self._memory = ReplayMemory(config, spaces)
        self._progress = 0.0
        self._steps_made = 0  # gradient steps in all

    @property
    def name(self) -> str:
        """The algorithm's name."""
        return self._objective.name

    @torch.no_grad()
    def act(self, obs: Tensor, *, explore: bool) -> Tensor:
        """The best known actions (B,) for obs (B, size); some of them random while exploring."""
        best: Tensor = self.online(self._memory.scaled(obs)).mean(2).argmax(1)
        if not explore:
            return best
        epsilon = self.config.epsilon.value(self._progress)
        return epsilon_greedy(best, actions=self._actions, epsilon=epsilon, generator=self._exploring)

    def acting_network(self) -> ActingNetwork:
        """The network of action values, of which the best is chosen."""
        return ActingNetwork(self.online, "best_mean", self._memory.normaliser)

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
        results = [self._gradient_step(rate) for _ in range(due)]
        made = [result for result in results if not result.step.refused_for]
        skipped = Counter({"loss": 0, "gradient": 0})
        skipped.update(result.step.refused_for for result in results if result.step.refused_for)
        return Update(metrics=self._metrics(made), gradient_steps=len(made), skipped=dict(skipped))

    def _gradient_step(self, rate: float) -> _Learned:
        """Learn from one minibatch; a loss or gradient that is not finite changes nothing."""
        batch = self._memory.draw(self._sampling, self._progress)
        predicted, target = self._predictions(batch)
        rows = self._objective.losses(predicted, target)
        step = self._optimizer.step((batch.weights * rows.losses).mean(), rate)
        if not step.refused_for:
            self._memory.replay.update_priorities(batch.indices, rows.priorities)
            self._steps_made += 1
            if self._steps_made % self.config.target_every == 0:
                soft_update(self._target, self.online, self.config.target_rate)
        return _Learned(step, predicted.detach(), target)

    def _predictions(self, batch: Minibatch) -> tuple[Tensor, Tensor]:
        """The network's outputs for the actions taken, and their targets; both (B, K)."""
        with torch.no_grad():
            following = self._target(batch.next_obs)
            choosing = self.online(batch.next_obs) if self.config.double else following
        target = bellman_targets(batch.rewards, batch.discounts, following, choosing)
        return numbers_of(batch.actions, self.online(batch.obs)), target

    def _metrics(self, made: list[_Learned]) -> dict[str, float]:
        """Means over the gradient steps made; figures of values are of the last minibatch."""
        figures = {
            "epsilon": self.config.epsilon.value(self._progress),
            "learning_rate": self.config.learning_rate.value(self._progress),
            **self._memory.figures(),
        }
        if not made:
            return figures
        norms = [result.step.gradient_norm for result in made]
        return figures | {
            "loss": math.fsum(result.step.loss for result in made) / len(made),
            "gradient_norm": math.fsum(norms) / len(made),
            "gradient_norm_max": max(norms),
            "clip_fraction": sum(norm > self.config.max_gradient_norm for norm in norms) / len(made),
            **value_figures(made[-1].predicted.mean(1).unsqueeze(0), made[-1].target.mean(1)),
        }

    def state(self) -> dict[str, Any]:
        """Everything needed to continue training bit for bit, as copies."""
        return {
            "name": self.name,
            "online": copies(self.online.state_dict()),
            "target": copies(self._target.state_dict()),
            "counters": {"progress": self._progress, "waiting": self._memory.waiting, "steps_made": self._steps_made},
            "generators": {name: generator.get_state() for name, generator in self._generators.items()},
            **{name: part.state() for name, part in self._parts().items()},
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from `state`, which must come from a learner built alike; rates and schedules may differ."""
        refuse_other_state(state, self.name, {*_ALWAYS_SAVED, *self._parts()})
        online, target = (tensors_of(state[name], self.online.state_dict()) for name in ("online", "target"))
        streams = tensors_of(state["generators"], {name: own.get_state() for name, own in self._generators.items()})
        counters = state["counters"]
        progress, waiting = number_of(counters, "progress"), integer_of(counters, "waiting")
        steps_made = integer_of(counters, "steps_made")
        for name, part in self._parts().items():
            part.load_state(state[name])
        self.online.load_state_dict(online)
        self._target.load_state_dict(target)
        for name, generator in self._generators.items():
            generator.set_state(streams[name])
        self._progress, self._memory.waiting, self._steps_made = progress, waiting, steps_made

    def _parts(self) -> dict[str, ReplaySource | GuardedAdam | ObservationNormaliser | RewardScaler]:
        """The parts that save and restore themselves."""
        return {**self._memory.parts(), "optimizer": self._optimizer}
