"""What an agent is trained on and in which order: one file under configs/curriculum/ is one CurriculumSpec."""

import math
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Self

from pydantic import Field, JsonValue, PositiveFloat, PositiveInt, field_validator, model_validator

from gaelp.config.base import Frozen
from gaelp.config.load import load_model
from gaelp.config.names import Slug, refuse_repeats
from gaelp.config.suggest import nearest
from gaelp.market.spec import RANDOMISABLE

__all__ = ["CurriculumSpec", "Task", "TaskMix", "load_curriculum"]

_NOT_OVERRIDDEN = {
    "name": "the built market is called after its task",
    "randomise": "ranges belong under the task's own randomise",
}
_SHARES_TOLERANCE = 1e-9


class Task(Frozen):
    """One market to learn, what must be mastered before it, and the rewards that decide when it is mastered itself.

    Rewards are shares of the hindsight optimum. `overrides` are checked against the market when the task is built.
    """

    name: Slug
    why: str = Field(min_length=1, max_length=400, description="what an agent learns here that it did not before")
    market: str = Field(min_length=1, description="a name in configs/markets or a path")
    overrides: dict[str, JsonValue] = Field(default={}, description="laid over the market; mappings merge")
    randomise: dict[str, tuple[float, float]] = Field(
        default={}, description="laid over the market's own ranges, by key path; one of RANDOMISABLE"
    )
    requires: tuple[Slug, ...] = Field(default=(), description="tasks that must be mastered first")
    promote_at: float = Field(gt=0, le=1, description="mean reward from which the task counts as mastered")
    demote_below: float = Field(ge=0, lt=1, description="mean reward below which it no longer does")
    window: PositiveInt = Field(default=5, le=1000, description="evaluations averaged, counted since the last verdict")
    minimum_evaluations: PositiveInt = Field(default=3, description="a verdict needs at least as many")
    weight: PositiveFloat = Field(default=1.0, description="share of episodes relative to tasks in the same part")

    @field_validator("overrides")
    @classmethod
    def _overrides_leave_the_tasks_own_keys(cls, overrides: dict[str, JsonValue]) -> dict[str, JsonValue]:
        for key, reason in _NOT_OVERRIDDEN.items():
            if key in overrides:
                raise ValueError(f"{key} cannot be overridden: {reason}. Remove it here.")
        return overrides

    @field_validator("randomise")
    @classmethod
    def _ranges_are_known_and_rise(cls, ranges: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
        for path, (low, high) in ranges.items():
            if path not in RANDOMISABLE:
                raise ValueError(
                    f"{path!r} cannot vary between campaigns; allowed: {', '.join(RANDOMISABLE)}."
                    f"{nearest(path, RANDOMISABLE)}"
                )
            if low > high:
                raise ValueError(f"{path} runs from {low} to {high}; the first must not exceed the second: swap them")
        return ranges

    @model_validator(mode="after")
    def _thresholds_leave_a_gap(self) -> Self:
        if self.demote_below >= self.promote_at:
            raise ValueError(
                f"task {self.name!r}: demote_below={self.demote_below} must lie below promote_at={self.promote_at},"
                " or a task would be promoted and demoted in turn: lower demote_below"
            )
        return self

    @model_validator(mode="after")
    def _window_holds_the_minimum(self) -> Self:
        if self.minimum_evaluations > self.window:
            raise ValueError(
                f"task {self.name!r}: minimum_evaluations={self.minimum_evaluations} exceeds window={self.window},"
                " so no verdict could ever be made: lower the first or raise the second"
            )
        return self


class TaskMix(Frozen):
    """How episodes are shared out while both parts have tasks; a part without tasks leaves its share to the other."""

    frontier: float = Field(default=0.7, gt=0, le=1, description="share of unlocked tasks not yet mastered")
    mastered: float = Field(default=0.3, ge=0, lt=1, description="share of mastered tasks, against forgetting them")

    @model_validator(mode="after")
    def _shares_are_everything(self) -> Self:
        total = self.frontier + self.mastered
        if not math.isclose(total, 1.0, rel_tol=0, abs_tol=_SHARES_TOLERANCE):
            raise ValueError(
                f"frontier={self.frontier} and mastered={self.mastered} sum to {round(total, 12)},"
                f" they must sum to 1: set mastered to {round(1 - self.frontier, 9)}"
            )
        return self


class CurriculumSpec(Frozen):
    """Tasks of rising difficulty and how episodes are shared out among them.

    Holds no seed: each choice of a task draws from a generator that is passed in, so the same seed and the same rewards
    give the same tasks.
    """

    tasks: tuple[Task, ...] = Field(min_length=1, max_length=256)
    mix: TaskMix = TaskMix()

    @model_validator(mode="after")
    def _tasks_lead_somewhere(self) -> Self:
        names = [task.name for task in self.tasks]
        refuse_repeats("task", names)
        for task in self.tasks:
            _refuse_unknown(task, names)
        _refuse_circles(self.tasks)
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """Task names in the order of the file."""
        return tuple(task.name for task in self.tasks)


def load_curriculum(path_or_name: str | Path = "default") -> CurriculumSpec:
    """Read a curriculum by its name in configs/curriculum or by path; ConfigError names what is wrong."""
    return load_model(CurriculumSpec, path_or_name, "curriculum")


def _refuse_unknown(task: Task, names: list[str]) -> None:
    for name in task.requires:
        if name not in names:
            raise ValueError(
                f"task {task.name!r} requires {name!r}, which is no task here; allowed: {', '.join(names)}."
                f"{nearest(name, names)}"
            )


def _refuse_circles(tasks: tuple[Task, ...]) -> None:
    """A graph without cycles also has a task that requires nothing, so training can begin."""
    try:
        TopologicalSorter({task.name: task.requires for task in tasks}).prepare()
    except CycleError as problem:
        circle = " -> ".join(_from_first(problem.args[1]))
        raise ValueError(
            f"tasks wait for each other, each for the one before it: {circle}. None of them could ever begin:"
            " remove one of these requirements"
        ) from None


def _from_first(circle: list[str]) -> Iterator[str]:
    """The circle from its alphabetically first task on, so that the same circle always reads the same."""
    ring = circle[:-1]
    start = ring.index(min(ring))
    yield from ring[start:] + ring[: start + 1]
