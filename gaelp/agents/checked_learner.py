"""A third party's learner as the training loop sees it: what it raises is named, and what it returns is checked."""

import inspect
from collections.abc import Mapping
from contextlib import AbstractContextManager
from inspect import unwrap
from numbers import Real
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from gaelp.agents.agent_failure import agent_failure
from gaelp.agents.learner import BoxActions, Learner, Spaces, Update
from gaelp.config.places import repository_root, shown
from gaelp.errors import BadInput, GaelpError
from gaelp.experience.collect import Step

__all__ = ["CheckedLearner"]

_GAELP = repository_root() / "gaelp"
_CALLED_BY = {"act": ("best_actions", "explored_actions"), "update": ("learn",)}  # by BatchLearner


class CheckedLearner:
    """Passes every call on; GaelpError names the agent and the method if a call raises or returns something else."""

    def __init__(self, learner: Learner, spaces: Spaces, agent: str) -> None:
        self._learner, self._spaces, self._agent = learner, spaces, agent

    @property
    def name(self) -> str:
        """The algorithm's name."""
        return self._learner.name

    def act(self, obs: Tensor, *, explore: bool) -> Tensor:
        """Actions for all rows, of the shape and type that the spaces demand."""
        with self._failure("act"):
            action = self._learner.act(obs, explore=explore)
        self._check_actions(action, len(obs))
        return action

    def observe(self, step: Step) -> None:
        """Record the step that the last explored actions led to."""
        with self._failure("observe"):
            self._learner.observe(step)

    def cut(self) -> None:
        """Prepare for a reset from outside."""
        with self._failure("cut"):
            self._learner.cut()

    def update(self, progress: float) -> Update | None:
        """Learn if enough steps are collected."""
        with self._failure("update"):
            update = self._learner.update(progress)
        if update is not None:
            self._check_update(update)
        return update

    def state(self) -> dict[str, Any]:
        """Everything that determines further training."""
        with self._failure("state"):
            state = self._learner.state()
        if not isinstance(state, dict):
            raise self._returned("state", _type(state), "a dict of tensors, numbers and strings")
        return state

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from `state` bit for bit."""
        with self._failure("load_state"):
            self._learner.load_state(state)

    def _failure(self, method: str) -> AbstractContextManager[None]:
        kind = type(self._learner)
        return agent_failure(self._agent, method, getattr(kind, method, kind), kind.__module__)

    def _check_actions(self, action: object, rows: int) -> None:
        actions = self._spaces.actions
        shape: tuple[int, ...]
        if isinstance(actions, BoxActions):
            shape, dtype, allowed = (rows, actions.size), torch.float32, "finite numbers"
        else:
            shape, dtype, allowed = (rows,), torch.int64, f"choices from 0 to {actions.count - 1}"
        expected = f"a tensor of shape {shape} and type {dtype}"
        if not isinstance(action, Tensor):
            raise self._returned("act", _type(action), expected)
        if tuple(action.shape) != shape or action.dtype != dtype:
            raise self._returned("act", f"a tensor of shape {tuple(action.shape)} and type {action.dtype}", expected)
        bad = ~action.isfinite() if isinstance(actions, BoxActions) else (action < 0) | (action >= actions.count)
        if bad.any():
            place = bad.nonzero()[0].tolist()
            # Bad input stops the run by a guardrail: its checkpoints are still good.
            raise BadInput(
                f"your agent {self._agent} returned {action[tuple(place)].item()} in row {place[0]} from act; allowed:"
                f" {allowed}. Check its parameters after update, or lower its learning rate."
            )

    def _check_update(self, update: object) -> None:
        if not isinstance(update, Update):
            raise self._returned("update", _type(update), "gaelp.agents.learner.Update, or None")
        if not isinstance(update.metrics, Mapping):
            raise self._returned("update", f"metrics of {_type(update.metrics)}", "figures by name")
        for name, value in cast("Mapping[object, object]", update.metrics).items():
            if not isinstance(name, str) or not isinstance(value, Real):
                raise self._returned(
                    "update", f"metrics[{name!r}] of {_type(value)}", "a number for each name; call .item() on a tensor"
                )

    def _returned(self, method: str, value: str, expected: str) -> GaelpError:
        return GaelpError(
            f"your agent {self._agent} returned {value} from {method}; allowed: {expected}. Correct"
            f" {self._written_by_the_agent(method)}; the tests of gaelp.agents.conformance check it before training."
        )

    def _written_by_the_agent(self, method: str) -> str:
        """The method with its file and line, or those it calls where GAELP's BatchLearner has the method itself."""
        methods = {name: getattr(type(self._learner), name, None) for name in (method, *_CALLED_BY.get(method, ()))}
        codes = {name: unwrap(function).__code__ for name, function in methods.items() if inspect.isfunction(function)}
        own = {name: code for name, code in codes.items() if _GAELP not in Path(code.co_filename).parents}
        places = (f"{name} ({shown(Path(code.co_filename))}:{code.co_firstlineno})" for name, code in own.items())
        return " or ".join(places) or method


def _type(value: object) -> str:
    return f"an object of type {type(value).__name__}" if value is not None else "None"
