"""Learners that know what each of several actions is worth: what DQN and QR-DQN share, all but the loss."""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from gaelp.agents.action_values import ActionValues, bellman_targets, epsilon_greedy, numbers_of
from gaelp.agents.guarded_adam import GradientStep, GuardedAdam
from gaelp.agents.learner import DiscreteActions, Spaces, Update
from gaelp.agents.value_based_config import ValueBasedConfig
from gaelp.errors import BadInput
from gaelp.experience.collect import Step, refuse_not_finite
from gaelp.experience.normalise import ObservationNormaliser, RewardScaler
from gaelp.experience.prioritized import PrioritizedReplay
from gaelp.experience.replay import Replay, ReplayBuffer
from gaelp.experience.saved import State, integer_of, number_of, tensor_of
from gaelp.experience.transitions import Batch
from gaelp.experience.value_guard import FieldSpec

__all__ = ["Objective", "RowLosses", "ValueLearner"]


_ALWAYS_SAVED = ("name", "online", "target", "counters", "generators")


class RowLosses(NamedTuple):
    """What each row of a minibatch adds to the loss, and how soon it should be seen again; both (B,)."""

    losses: Tensor
    priorities: Tensor


@dataclass(frozen=True, slots=True)
class Objective:
    """What tells one value-based algorithm from another."""

    name: str
    numbers: int  # per action: K
    losses: Callable[[Tensor, Tensor], RowLosses]  # of predicted and target (B, K)


class _Learnt(NamedTuple):
    """What became of one minibatch: the gradient step, and the predictions and targets (B, K) behind it."""

    step: GradientStep
    predicted: Tensor
    target: Tensor


class ValueLearner:
    """Acts epsilon-greedily, replays what it saw and moves its values towards Bellman targets."""

    def __init__(self, spaces: Spaces, config: ValueBasedConfig, objective: Objective, *, seed: int) -> None:
        if not isinstance(spaces.actions, DiscreteActions):
            raise BadInput(
                f"{objective.name} compares the values of single actions, but the actions are {spaces.actions}:"
                " choose an algorithm for numbers such as sac or td3, or offer a list of choices (DiscreteActions)"
            )
        self.config = config
        self._objective = objective
        self._actions = spaces.actions.count
        weights_seed, *streams = (int(word) for word in np.random.SeedSequence(seed).generate_state(3, np.uint64))
        self._exploring, self._sampling = (torch.Generator().manual_seed(stream) for stream in streams)
        self._generators = {"exploring": self._exploring, "sampling": self._sampling}
        self.online, self._target = (
            ActionValues(
                spaces.observation_size,
                actions=self._actions,
                numbers=objective.numbers,
                spec=config.network,
                dueling=config.dueling,
                seed=weights_seed,
            )
            for _ in range(2)
        )
        self._target.requires_grad_(requires_grad=False)
        self._parameters, self._target_parameters = (list(net.parameters()) for net in (self.online, self._target))
        self._optimizer = GuardedAdam(self._parameters, max_norm=config.max_gradient_norm)
        self._buffer = ReplayBuffer(
            _fields(spaces.observation_size, self._actions, config),
            capacity=config.replay_capacity,
            envs=spaces.rows,
            gamma=config.gamma,
            n_step=config.n_step,
            on_refused=config.on_refused,
        )
        drawn = config.priorities
        self._replay: Replay = (
            PrioritizedReplay(self._buffer, alpha=drawn.alpha, beta_start=drawn.beta_start) if drawn else self._buffer
        )
        self._normaliser = ObservationNormaliser((spaces.observation_size,)) if config.normalise_obs else None
        self._scaler = RewardScaler((spaces.rows,), gamma=config.gamma) if config.scale_rewards else None
        self._progress = 0.0
        self._waiting = 0  # steps since the last update
        self._steps_made = 0  # gradient steps in all

    @property
    def name(self) -> str:
        """The algorithm's name."""
        return self._objective.name

    @torch.no_grad()
    def act(self, obs: Tensor, *, explore: bool) -> Tensor:
        """The best known actions (B,) for obs (B, size); some of them random while exploring."""
        best: Tensor = self.online(self._seen(obs)).mean(2).argmax(1)
        if not explore:
            return best
        epsilon = self.config.epsilon.value(self._progress)
        return epsilon_greedy(best, actions=self._actions, epsilon=epsilon, generator=self._exploring)

    def observe(self, step: Step) -> None:
        """Remember one step of all rows; one that is not finite is refused and leaves no trace."""
        for name in ("obs", "reward", "next_obs"):
            refuse_not_finite(name, getattr(step, name))
        ended = step.terminated | step.truncated
        self._replay.add(
            {
                "obs": step.obs,
                "actions": step.action,
                "rewards": step.reward,
                "next_obs": step.next_obs,
                "ended": ended,
                "terminated": step.terminated,
            }
        )
        if self._normaliser:
            self._normaliser.observe(step.obs)
        if self._scaler:
            # A reward outside the declared range that was left out does not move the scale either.
            allowed = step.reward.clamp(*self.config.reward_range) if self.config.reward_range else step.reward
            self._scaler.observe(allowed.unsqueeze(0), ended.unsqueeze(0))
        if self._replay.size >= self.config.learning_starts:
            self._waiting += 1

    def cut(self) -> None:
        """Rows are about to be reset from outside: their last steps count as truncated."""
        self._replay.cut()
        if self._scaler:
            self._scaler.cut()

    def update(self, progress: float) -> Update | None:
        """Make the gradient steps that are due: so many for every `train_every` steps since replay began to suffice."""
        rate = self.config.learning_rate.value(progress)
        self._progress = progress
        rounds, self._waiting = divmod(self._waiting, self.config.train_every)
        if not rounds:
            return None
        learnt = [self._gradient_step(rate) for _ in range(rounds * self.config.gradient_steps)]
        made = [one for one in learnt if not one.step.refused_for]
        skipped = Counter({"loss": 0, "gradient": 0})
        skipped.update(one.step.refused_for for one in learnt if one.step.refused_for)
        return Update(metrics=self._metrics(made), gradient_steps=len(made), skipped=dict(skipped))

    def _gradient_step(self, rate: float) -> _Learnt:
        """Learn from one minibatch; a loss or gradient that is not finite changes nothing."""
        batch = self._replay.sample(self.config.batch_size, self._sampling, self._progress)
        predicted, target = self._predictions(batch)
        rows = self._objective.losses(predicted, target)
        step = self._optimizer.step((batch["weights"] * rows.losses).mean(), rate)
        if not step.refused_for:
            self._replay.update_priorities(batch["indices"], rows.priorities)
            self._steps_made += 1
            if self._steps_made % self.config.target_every == 0:
                self._move_target()
        return _Learnt(step, predicted.detach(), target)

    def _predictions(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """What the network says of the actions taken, and what it should say; both (B, K)."""
        next_obs = self._seen(batch["next_obs"])
        rewards = self._scaler(batch["rewards"]) if self._scaler else batch["rewards"]
        with torch.no_grad():
            following = self._target(next_obs)
            choosing = self.online(next_obs) if self.config.double else following
        target = bellman_targets(rewards, batch["discounts"], following, choosing)
        return numbers_of(batch["actions"], self.online(self._seen(batch["obs"]))), target

    def _seen(self, obs: Tensor) -> Tensor:
        """Observations as the networks see them."""
        return self._normaliser(obs) if self._normaliser else obs

    @torch.no_grad()
    def _move_target(self) -> None:
        for old, new in zip(self._target_parameters, self._parameters, strict=True):
            old.lerp_(new, self.config.target_rate)

    def _metrics(self, made: list[_Learnt]) -> dict[str, float]:
        """Means over the gradient steps made; figures of values are of the last minibatch."""
        figures = {
            "epsilon": self.config.epsilon.value(self._progress),
            "learning_rate": self.config.learning_rate.value(self._progress),
            "replay_size": float(self._replay.size),
            "refused_steps": float(self._buffer.refused_steps),
        }
        if not made:
            return figures
        norms = [one.step.gradient_norm for one in made]
        return figures | {
            "loss": math.fsum(one.step.loss for one in made) / len(made),
            "gradient_norm": math.fsum(norms) / len(made),
            "gradient_norm_max": max(norms),
            "clip_fraction": sum(norm > self.config.max_gradient_norm for norm in norms) / len(made),
            **_value_figures(made[-1].predicted.mean(1), made[-1].target.mean(1)),
        }

    def state(self) -> dict[str, Any]:
        """Everything that decides how training goes on, as copies."""
        return {
            "name": self.name,
            "online": _copies(self.online.state_dict()),
            "target": _copies(self._target.state_dict()),
            "counters": {"progress": self._progress, "waiting": self._waiting, "steps_made": self._steps_made},
            "generators": {name: generator.get_state() for name, generator in self._generators.items()},
            **{name: part.state() for name, part in self._parts().items()},
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from `state`, which must come from a learner built alike; rates and schedules may differ."""
        _refuse_other_state(state, self.name, {*_ALWAYS_SAVED, *self._parts()})
        online, target = (
            {name: tensor_of(state[key], name, tensor) for name, tensor in network.state_dict().items()}
            for key, network in (("online", self.online), ("target", self._target))
        )
        streams = {
            name: tensor_of(state["generators"], name, generator.get_state())
            for name, generator in self._generators.items()
        }
        counters = state["counters"]
        progress, waiting = number_of(counters, "progress"), integer_of(counters, "waiting")
        steps_made = integer_of(counters, "steps_made")
        for name, part in self._parts().items():
            part.load_state(state[name])
        self.online.load_state_dict(online)
        self._target.load_state_dict(target)
        for name, generator in self._generators.items():
            generator.set_state(streams[name])
        self._progress, self._waiting, self._steps_made = progress, waiting, steps_made

    def _parts(self) -> dict[str, Replay | GuardedAdam | ObservationNormaliser | RewardScaler]:
        """What saves and restores itself."""
        optional = {"normaliser": self._normaliser, "scaler": self._scaler}
        present = {name: part for name, part in optional.items() if part}
        return {"replay": self._replay, "optimizer": self._optimizer, **present}


def _fields(observation_size: int, actions: int, config: ValueBasedConfig) -> dict[str, FieldSpec]:
    """What a stored transition holds, and which values may occur in it."""
    low, high = config.reward_range or (-math.inf, math.inf)
    return {
        "obs": FieldSpec((observation_size,)),
        "actions": FieldSpec(dtype=torch.int64, value_low=0, value_high=actions - 1),
        "rewards": FieldSpec(value_low=low, value_high=high),
    }


def _value_figures(predicted: Tensor, target: Tensor) -> dict[str, float]:
    """How large the values (B,) are, and how well they fit their targets."""
    errors, spread = target - predicted, target.var(correction=0).item()
    return {
        "q_abs_mean": predicted.abs().mean().item(),
        "q_abs_max": predicted.abs().max().item(),
        "td_error_abs_mean": errors.abs().mean().item(),
        "explained_variance": 1 - errors.var(correction=0).item() / spread if spread > 0 else 0.0,
    }


def _copies(tensors: Mapping[str, Tensor]) -> State:
    return {name: tensor.detach().clone() for name, tensor in tensors.items()}


def _refuse_other_state(state: Mapping[str, Any], name: str, wanted: set[str]) -> None:
    if state.keys() != wanted:
        raise BadInput(
            f"the saved state has {sorted(state)}, wanted is {sorted(wanted)}: load into a learner built alike"
        )
    if state["name"] != name:
        raise BadInput(f"the saved state is of {state['name']!r}, this learner is {name!r}: build that one")
