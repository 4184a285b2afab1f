"""A base for short learners: it collects steps, checks them, saves and restores; a subclass says how to act and learn.

A subclass has a `name`, the `actions` it takes, and four methods: `start`, `best_actions`, `explored_actions` and
`learn`. `starter.py` is a complete one; `gaelp init --agent NAME` copies it.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Generic, TypeVar

import torch
from pydantic import Field, PositiveFloat, PositiveInt
from torch import Tensor

from gaelp.agents.agent_failure import agent_failure, definition_place
from gaelp.agents.catalog import ActionKind, AgentKind
from gaelp.agents.learner import BoxActions, Spaces, Update, random_streams, refuse_other_state
from gaelp.agents.scaling import changed
from gaelp.config.base import Frozen
from gaelp.errors import BadInput, GaelpError, Refused
from gaelp.experience.collect import Step, refuse_not_finite
from gaelp.experience.saved import copies, tensor_of, tensors_of

__all__ = ["BatchConfig", "BatchLearner"]

_SAVED = ("name", "parameters", "steps", "drawn", "generator")


class BatchConfig(Frozen):
    """What every learner of this kind is configured with; a subclass adds its own settings."""

    steps_per_update: PositiveInt = Field(default=24, description="steps of every row collected before each update")
    learning_rate: PositiveFloat = Field(default=0.1, description="how far one update moves the parameters")


OwnConfig = TypeVar("OwnConfig", bound=BatchConfig)


class BatchLearner(ABC, Generic[OwnConfig]):
    """Collects `steps_per_update` steps of all rows, learns from them once, and starts over.

    A subclass reads `spaces`, `config` and `action_size` (how many numbers an action has, or how many choices there
    are), and draws all its randomness from `generator`.
    """

    name: ClassVar[str]
    actions: ClassVar[ActionKind]

    def __init__(self, spaces: Spaces, config: OwnConfig, *, seed: int) -> None:
        self.spaces, self.config = spaces, config
        self._box = isinstance(spaces.actions, BoxActions)
        if self.actions not in ("both", "continuous" if self._box else "discrete"):
            raise BadInput(f"{self.name} takes {self.actions} actions, not {spaces.actions}: choose another agent")
        self.action_size = spaces.actions.size if isinstance(spaces.actions, BoxActions) else spaces.actions.count
        _, self.generator, _ = random_streams(seed)
        with self._failure("start"):
            self.parameters = self._checked(self.start())
        self._steps: list[Step] = []
        self._drawn: Tensor | None = None

    def _checked(self, parameters: object) -> dict[str, Tensor]:
        if not isinstance(parameters, dict) or not all(isinstance(value, Tensor) for value in parameters.values()):
            raise GaelpError(
                f"your agent {self.name} returned {parameters!r:.80} from start; allowed: a dict of tensors by name."
                f" Correct start in {type(self).__module__}."
            )
        if damaged := [name for name, tensor in parameters.items() if not tensor.isfinite().all()]:
            raise GaelpError(
                f"your agent {self.name} returned parameters that are not finite from start: {', '.join(damaged)}."
                f" Correct start at {definition_place(type(self).start)}."
            )
        return parameters

    @abstractmethod
    def start(self) -> dict[str, Tensor]:
        """The first parameters, by name; `learn` changes them in place in `self.parameters`."""

    @abstractmethod
    def best_actions(self, obs: Tensor) -> Tensor:
        """The best known actions for observations (rows, size); numbers outside -1..1 are clipped afterwards."""

    @abstractmethod
    def explored_actions(self, obs: Tensor) -> Tensor:
        """Actions to learn from, drawn from `self.generator` and from no other."""

    @abstractmethod
    def learn(self, steps: Step, progress: float) -> Mapping[str, float]:
        """Change `self.parameters` by steps whose tensors have shape (T, rows, ...); returns figures to report."""

    @classmethod
    def kind(cls, config: type[OwnConfig]) -> AgentKind[OwnConfig]:
        """What an entry point in the group `gaelp.agents` names."""
        return AgentKind(cls.name, config, cls, cls.actions, _scaled)

    def act(self, obs: Tensor, *, explore: bool) -> Tensor:
        """Actions for all rows: explored ones while training, the best known otherwise."""
        method = "explored_actions" if explore else "best_actions"
        with self._failure(method):
            action = self.explored_actions(obs) if explore else self.best_actions(obs)
        self._refuse_not_finite_actions(action, method)
        action = action.clamp(-1.0, 1.0) if self._box else action
        if explore:
            self._drawn = action
        return action

    def observe(self, step: Step) -> None:
        """Keep the step that the actions drawn last led to; BadInput if it is not finite or not theirs."""
        if len(self._steps) == self.config.steps_per_update:
            raise BadInput(f"{len(self._steps)} steps are collected and none more fits: call update first")
        if self._drawn is None or not torch.equal(step.action, self._drawn):
            raise BadInput("the step's actions are not those drawn last: call act with explore=True before each step")
        for name in ("obs", "next_obs", "reward"):
            refuse_not_finite(name, getattr(step, name))
        self._steps.append(step._replace(finished_returns=()))
        self._drawn = None

    def cut(self) -> None:
        """Mark the last step of every row as truncated, and forget actions that were not yet observed."""
        self._drawn = None
        if self._steps:
            last = self._steps[-1]
            self._steps[-1] = last._replace(truncated=~last.terminated)

    def update(self, progress: float) -> Update | None:
        """Learn once enough steps are collected; `progress` is the share of training done, 0..1."""
        if not 0 <= progress <= 1:
            raise BadInput(f"progress={progress} must lie in 0..1: give the share of training done")
        if len(self._steps) < self.config.steps_per_update:
            return None
        steps = Step(**self._stacked(), finished_returns=())
        with self._failure("learn"):
            metrics = self.learn(steps, progress)
        self._steps = []
        return Update(metrics, gradient_steps=1)

    def state(self) -> dict[str, Any]:
        """Everything that decides how training continues, as copies."""
        return {
            "name": self.name,
            "parameters": copies(self.parameters),
            "steps": self._stacked() if self._steps else {},
            "drawn": {} if self._drawn is None else {"action": self._drawn.clone()},
            "generator": self.generator.get_state(),
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from `state`, which must come from a learner built alike; the learning rate may differ."""
        refuse_other_state(state, self.name, _SAVED)
        parameters = tensors_of(state["parameters"], self.parameters)
        generator = tensor_of(dict(state), "generator", self.generator.get_state())
        names = [name for name in Step._fields if name in state["steps"]]
        if names:
            tensor_of(state["steps"], "reward", torch.zeros(len(state["steps"]["reward"]), self.spaces.rows))
        columns = [state["steps"][name].clone().unbind() for name in names]
        self._steps = [
            Step(**dict(zip(names, tensors, strict=True)), finished_returns=())
            for tensors in zip(*columns, strict=True)
        ]
        self.parameters = {name: tensor.clone() for name, tensor in parameters.items()}
        self._drawn = state["drawn"]["action"].clone() if state["drawn"] else None
        self.generator.set_state(generator)

    def _failure(self, method: str) -> AbstractContextManager[None]:
        kind = type(self)
        return agent_failure(self.name, method, getattr(kind, method), kind.__module__)

    def _refuse_not_finite_actions(self, action: Tensor, method: str) -> None:
        bad = (~action.isfinite()).nonzero()
        if not len(bad):
            return
        place = bad[0].tolist()
        damaged = [name for name, tensor in self.parameters.items() if not tensor.isfinite().all()]
        changed_in = "learn" if damaged else method
        cause = f"self.parameters {', '.join(damaged)} are not finite: check" if damaged else "check"
        raise BadInput(
            f"{self.name} returned actions that are not finite in {method}: {action[tuple(place)].item()} in row"
            f" {place[0]}; {cause} {changed_in} at {definition_place(getattr(type(self), changed_in))}"
        )

    def _stacked(self) -> dict[str, Tensor]:
        columns = zip(*(step[:-1] for step in self._steps), strict=True)
        return {name: torch.stack(column) for name, column in zip(Step._fields, columns, strict=False)}


def _scaled(config: OwnConfig, *, learning_rate: float, minibatch: float) -> OwnConfig:
    if minibatch < 1:
        raise Refused(
            f"steps_per_update={config.steps_per_update} are learnt from at once, and there is no minibatch to shrink:"
            " lower steps_per_update or the number of rows"
        )
    return changed(config, learning_rate=config.learning_rate * learning_rate)
