"""Runs an algorithm of stable-baselines3 as a `Learner`: GAELP steps the environment, the algorithm learns.

It acts with its own policy and keeps experience in its own buffer. The global random generators have separate states
for it (`global_random.py`). A minibatch that is not finite is not skipped: the figures show it, and the loop decides.
"""

import copy
import inspect
import math
import random
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.noise import NormalActionNoise, VectorizedActionNoise
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from torch import Tensor

from gaelp.agents.global_random import OwnRandom
from gaelp.agents.learner import BoxActions, Spaces, Update
from gaelp.agents.sb3 import NOT_FOR_USERS, Sb3Config
from gaelp.agents.sb3_spaces import SpacesOnly
from gaelp.agents.sb3_state import buffer_of, load_model_state, model_state
from gaelp.errors import BadInput
from gaelp.experience.collect import NOTHING_DRAWN, Step, refuse_not_finite, refuse_other_step
from gaelp.experience.saved import integer_of, tensor_of

__all__ = ["OffPolicySb3", "OnPolicySb3", "Sb3Learner", "build_learner"]

_SAVED = {"name", "drawn", "following", "waiting", "random"}
_USUAL_BUFFERS = "stable_baselines3.common.buffers"
# The loop's names of figures, and a sign: an entropy loss is minus the entropy.
_FIGURES = {
    "entropy_loss": ("entropy", -1.0),
    "policy_gradient_loss": ("policy_loss", 1.0),
    "policy_objective": ("policy_loss", -1.0),
    "kl_divergence_loss": ("approx_kl", 1.0),
    "ent_coef": ("temperature", 1.0),
    "std": ("action_std", 1.0),
}


class Sb3Learner(ABC):
    """Acts, saves and restores; a subclass fills the algorithm's buffer and lets it learn."""

    def __init__(self, name: str, model: Any, spaces: Spaces, own_random: OwnRandom) -> None:
        self.name = name
        self.model = model
        self._random = own_random
        self._box = isinstance(spaces.actions, BoxActions)
        self._drawn: dict[str, Tensor] = {}
        self._next_obs = torch.zeros(spaces.rows, spaces.observation_size)
        self._ended = torch.ones(spaces.rows, dtype=torch.bool)
        self._waiting = 0  # steps since the last update

    @torch.no_grad()
    def act(self, obs: Tensor, *, explore: bool) -> Tensor:
        """Actions for observations (rows, size), exploring or the best known."""
        with self._random:
            if explore:
                self._drawn = self._draw(obs)
                return self._drawn["given"]
            best, _ = self.model.predict(obs.numpy(), deterministic=True)
        return self._action(best)

    def observe(self, step: Step) -> None:
        """Put the step into the algorithm's buffer; BadInput if it is not finite or not of the actions drawn last."""
        self._refuse_bad(step)
        self._keep(step, self._drawn)
        self._next_obs, self._ended = step.next_obs.clone(), step.terminated | step.truncated
        self._drawn = {}
        self._waiting += 1
        self.model.num_timesteps += self.model.n_envs

    def cut(self) -> None:
        """Rows are about to be reset from outside: their last steps count as truncated."""
        self._drawn = {}
        if not bool(self._ended.all()):
            self._truncate(~self._ended)
            self._ended = torch.ones_like(self._ended)

    def update(self, progress: float) -> Update | None:
        """Let the algorithm learn if an update is due."""
        if not 0 <= progress <= 1:
            raise BadInput(f"progress={progress} must lie in 0..1: give the share of training done")
        self.model._current_progress_remaining = 1.0 - progress
        with self._random:
            steps = self._learn()
        logged = {name.removeprefix("train/"): value for name, value in self.model.logger.name_to_value.items()}
        if steps is None:
            return None
        self.model.logger.dump()
        return Update(metrics=_figures(logged), gradient_steps=steps)

    def state(self) -> dict[str, Any]:
        """Everything needed to continue training bit for bit, as copies."""
        return {
            "name": self.name,
            "drawn": {name: tensor.clone() for name, tensor in self._drawn.items()},
            "following": {"next_obs": self._next_obs.clone(), "ended": self._ended.clone()},
            "waiting": self._waiting,
            "random": self._random.state(),
            **model_state(self.model),
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from `state`, which must come from a learner built alike; learning rates may differ."""
        if state.get("name") != self.name:
            raise BadInput(
                f"the saved state is of {state.get('name')!r}, this learner is {self.name!r}: build that one"
            )
        if missing := sorted({*_SAVED, *model_state(self.model)} - state.keys()):
            raise BadInput(f"the saved state lacks {missing}: it is damaged")
        next_obs = tensor_of(state["following"], "next_obs", self._next_obs).clone()
        ended = tensor_of(state["following"], "ended", self._ended).clone()
        waiting = integer_of(dict(state), "waiting")
        self._random.checked(state["random"])
        load_model_state(self.model, state)()
        self._random.load_state(state["random"])
        self._next_obs, self._ended, self._waiting = next_obs, ended, waiting
        self._drawn = {name: tensor.clone() for name, tensor in state["drawn"].items()}

    @abstractmethod
    def _draw(self, obs: Tensor) -> dict[str, Tensor]:
        """Actions as `given` to the environment, and what else the buffer stores of them."""

    @abstractmethod
    def _keep(self, step: Step, drawn: Mapping[str, Tensor]) -> None:
        """Put a step into the buffer."""

    @abstractmethod
    def _truncate(self, rows: Tensor) -> None:
        """Mark the last step of these rows (N,) as truncated."""

    @abstractmethod
    def _learn(self) -> int | None:
        """Make the gradient steps that are due; returns how many, None if none are."""

    def _action(self, action: Any) -> Tensor:
        """An action of the algorithm in the type of GAELP's."""
        if self._box:
            return torch.as_tensor(np.asarray(action, np.float32)).clamp(-1.0, 1.0)
        return torch.as_tensor(np.asarray(action, np.int64))

    def _refuse_bad(self, step: Step) -> None:
        if not self._drawn:
            raise BadInput(NOTHING_DRAWN)
        refuse_other_step(step, self._drawn["given"], self._next_obs.shape)
        for name in ("obs", "next_obs", "reward"):
            refuse_not_finite(name, getattr(step, name))


class OnPolicySb3(Sb3Learner):
    """Fills the algorithm's collection and lets it train once that is full, as PPO, A2C and TRPO do."""

    def __init__(self, name: str, model: Any, spaces: Spaces, own_random: OwnRandom) -> None:
        super().__init__(name, model, spaces, own_random)
        self._steps_made = 0
        model.policy.optimizer.register_step_post_hook(self._count_step)

    def _draw(self, obs: Tensor) -> dict[str, Tensor]:
        self.model.policy.set_training_mode(False)
        actions, values, log_probs = self.model.policy(obs)
        return {"given": self._action(actions), "actions": actions, "values": values, "log_probs": log_probs}

    def _keep(self, step: Step, drawn: Mapping[str, Tensor]) -> None:
        buffer: Any = buffer_of(self.model)
        if buffer.full:
            raise BadInput(f"{buffer.buffer_size} steps are collected, which is all that fit: call update first")
        actions = drawn["actions"].numpy().reshape(len(step.obs), -1)
        started = self._ended.numpy()
        buffer.add(step.obs.numpy(), actions, step.reward.numpy(), started, drawn["values"], drawn["log_probs"])
        self._add_future(step.next_obs, step.truncated & ~step.terminated)

    def _truncate(self, rows: Tensor) -> None:
        if buffer_of(self.model).pos:
            self._add_future(self._next_obs, rows)

    @torch.no_grad()
    def _add_future(self, next_obs: Tensor, rows: Tensor) -> None:
        """Add the critic's values to the last rewards of truncated episodes, as the algorithms themselves do."""
        if bool(rows.any()):
            self.model.policy.set_training_mode(False)
            values = self.model.policy.predict_values(next_obs[rows]).flatten().numpy()
            buffer: Any = buffer_of(self.model)
            buffer.rewards[buffer.pos - 1, rows.numpy()] += self.model.gamma * values

    def _learn(self) -> int | None:
        buffer: Any = buffer_of(self.model)
        if not buffer.full:
            return None
        with torch.no_grad():
            last_values = self.model.policy.predict_values(self._next_obs)
        buffer.compute_returns_and_advantage(last_values=last_values, dones=self._ended.numpy())
        self._steps_made = self._waiting = 0
        self.model.train()
        buffer.reset()
        return self._steps_made

    def _count_step(self, *_: object) -> None:
        self._steps_made += 1


class OffPolicySb3(Sb3Learner):
    """Fills the algorithm's replay buffer and lets it train every `train_freq` steps, as SAC, TD3 and DQN do."""

    def _draw(self, obs: Tensor) -> dict[str, Tensor]:
        model = self.model
        model.policy.set_training_mode(False)
        model._last_obs = obs.numpy()
        given, kept = model._sample_action(model.learning_starts, model.action_noise, model.n_envs)
        return {"given": self._action(given), "actions": self._action(kept)}

    def _keep(self, step: Step, drawn: Mapping[str, Tensor]) -> None:
        ended, cut_short = step.terminated | step.truncated, (step.truncated & ~step.terminated).tolist()
        buffer: Any = buffer_of(self.model)
        buffer.add(
            step.obs.numpy(),
            step.next_obs.numpy(),
            drawn["actions"].numpy(),
            step.reward.numpy(),
            ended.numpy(),
            [{"TimeLimit.truncated": truncated} for truncated in cut_short],
        )
        self.model._on_step()

    def _truncate(self, rows: Tensor) -> None:
        buffer: Any = buffer_of(self.model)
        if buffer.size():
            buffer.dones[buffer.pos - 1, rows.numpy()] = 1.0
            buffer.timeouts[buffer.pos - 1, rows.numpy()] = 1.0

    def _learn(self) -> int | None:
        model = self.model
        every = model.train_freq.frequency
        rounds, self._waiting = divmod(self._waiting, every)
        each = model.gradient_steps if model.gradient_steps >= 0 else every * model.n_envs
        if not rounds * each or model.num_timesteps <= model.learning_starts:
            return None
        model.train(gradient_steps=rounds * each, batch_size=model.batch_size)
        return int(rounds * each)


def build_learner(algorithm: type[BaseAlgorithm], spaces: Spaces, config: Sb3Config, *, seed: int) -> Sb3Learner:
    """A learner around a new model of the algorithm; BadInput if the adapter or the algorithm refuses."""
    name = config.algorithm
    if not issubclass(algorithm, OnPolicyAlgorithm | OffPolicyAlgorithm):
        raise BadInput(
            f"{name} learns neither from a collection of steps nor from replay, so GAELP's loop cannot run it:"
            " choose another algorithm"
        )
    own_random = OwnRandom(seed)
    model = _built(algorithm, spaces, config, own_random, seed)
    buffer = buffer_of(model)
    if type(buffer).__module__ != _USUAL_BUFFERS:
        raise BadInput(
            f"{name} keeps its experience in a {type(buffer).__name__}, for data that GAELP's steps do not have"
            " (recurrent states or masks of actions): choose another algorithm"
        )
    model.set_logger(Logger(folder=None, output_formats=[]))
    kind = OffPolicySb3 if isinstance(buffer, ReplayBuffer) else OnPolicySb3
    return kind(name, model, spaces, own_random)


def _built(algorithm: Any, spaces: Spaces, config: Sb3Config, own_random: OwnRandom, seed: int) -> BaseAlgorithm:
    arguments = copy.deepcopy(config.arguments) | {
        "policy_kwargs": _policy_arguments(config)
    }  # copies: the algorithm changes them
    if config.learning_rate:
        rate = config.learning_rate
        arguments["learning_rate"] = lambda remaining: rate.value(1.0 - remaining)
    if config.action_noise:
        arguments["action_noise"] = _noise(spaces, config.action_noise)
    word = int(np.random.SeedSequence(seed).generate_state(1, np.uint32)[0])
    outer = random.getstate()  # the algorithm seeds this one too, but never draws from it
    try:
        with own_random:
            model: BaseAlgorithm = algorithm(config.policy, SpacesOnly(spaces), seed=word, device="cpu", **arguments)
    except (AssertionError, TypeError, ValueError) as problem:
        if config.policy not in algorithm.policy_aliases:
            raise BadInput(
                f"{config.algorithm} has no policy {config.policy}; it has {', '.join(algorithm.policy_aliases)}."
                " If none of these takes plain vectors, GAELP's loop cannot run it: choose another algorithm"
            ) from problem
        allowed = ", ".join(name for name in inspect.signature(algorithm).parameters if name not in NOT_FOR_USERS)
        raise BadInput(f"{config.algorithm} refuses its arguments ({problem}); it takes {allowed}") from problem
    finally:
        random.setstate(outer)
    return model


def _policy_arguments(config: Sb3Config) -> dict[str, Any]:
    """policy_kwargs with classes in place of their names."""
    given = config.arguments.get("policy_kwargs")
    arguments: dict[str, Any] = copy.deepcopy(given) if isinstance(given, dict) else {}
    for key, module in (("activation_fn", torch.nn), ("optimizer_class", torch.optim)):
        if key in arguments:
            named = getattr(module, str(arguments[key]), None)
            if not isinstance(named, type):
                raise BadInput(f"policy_kwargs.{key}={arguments[key]!r} is no class of {module.__name__}: name one")
            arguments[key] = named
    return arguments


def _noise(spaces: Spaces, deviation: float) -> VectorizedActionNoise:
    if not isinstance(spaces.actions, BoxActions):
        raise BadInput(
            f"action_noise={deviation} is for continuous actions, but the actions are {spaces.actions}: leave it out"
        )
    size = spaces.actions.size
    return VectorizedActionNoise(NormalActionNoise(np.zeros(size), np.full(size, deviation)), spaces.rows)


def _figures(logged: Mapping[str, Any]) -> dict[str, float]:
    """What the algorithm logged of its training, under the loop's names."""
    figures: dict[str, float] = {}
    for name, value in logged.items():
        if "/" not in name and isinstance(value, float | int | np.generic):
            known, sign = _FIGURES.get(name, (name, 1.0))
            figures[known] = sign * float(value)
    if math.isnan(figures.get("explained_variance", 0.0)):
        figures["explained_variance"] = 0.0  # NaN means that the targets do not vary: nothing to explain
    return figures
