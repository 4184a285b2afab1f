"""How far training has come: which tasks are locked, in training or mastered, as a pure state machine.

The mean of the evaluations since the last verdict decides: at or above promote_at the task is mastered, below
demote_below it no longer is. A task that loses its mastery locks every task that requires it, and these have to prove
themselves again: whatever a mastered task requires is mastered too.
"""

import math
import statistics
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic import NonNegativeInt

from gaelp.config.base import Frozen
from gaelp.config.suggest import nearest
from gaelp.config.validation import validated
from gaelp.errors import BadInput, DataError
from gaelp.training.curriculum_spec import CurriculumSpec, Task

__all__ = [
    "CurriculumState",
    "TaskProgress",
    "TaskStatus",
    "finished",
    "load",
    "record",
    "record_all",
    "save",
    "start",
    "statuses",
    "unlocked",
]

_VERSION = 1
_SAVED = "curriculum state"

TaskStatus = Literal["locked", "training", "mastered"]


class TaskProgress(Frozen):
    """One task's record; `relocks` counts how often a demotion further down locked it again."""

    name: str
    scores: tuple[float, ...]  # rewards since the last verdict, at most a window of them, newest last
    mastered: bool
    evaluations: NonNegativeInt  # ever
    promotions: NonNegativeInt
    demotions: NonNegativeInt
    relocks: NonNegativeInt


class CurriculumState(Frozen):
    """The progress of every task, in the order of the curriculum."""

    version: int
    tasks: tuple[TaskProgress, ...]


def start(spec: CurriculumSpec) -> CurriculumState:
    """The state before any evaluation."""
    return CurriculumState(version=_VERSION, tasks=tuple(_untouched(name) for name in spec.names))


def statuses(spec: CurriculumSpec, state: CurriculumState) -> dict[str, TaskStatus]:
    """The status of every task, in the order of the curriculum."""
    mastered = {progress.name for progress in state.tasks if progress.mastered}
    return {task.name: _status(task, mastered) for task in spec.tasks}


def unlocked(spec: CurriculumSpec, state: CurriculumState) -> tuple[str, ...]:
    """The tasks that may be trained and evaluated: all they require is mastered."""
    return tuple(name for name, status in statuses(spec, state).items() if status != "locked")


def finished(spec: CurriculumSpec, state: CurriculumState) -> bool:
    """Whether every task is mastered."""
    return all(status == "mastered" for status in statuses(spec, state).values())


def record(spec: CurriculumSpec, state: CurriculumState, task: str, reward: float) -> CurriculumState:
    """The state after one evaluation of an unlocked task; `reward` is the mean over its episodes."""
    _check_evaluation(spec, state, task, reward)
    rules = next(rules for rules in spec.tasks if rules.name == task)
    before = next(progress for progress in state.tasks if progress.name == task)
    after = _judged(rules, _with_score(rules, before, float(reward)))
    lost = before.mastered and not after.mastered
    relocked = _built_on(spec, task) & set(unlocked(spec, state)) if lost else set[str]()
    changed = {progress.name: _relocked(progress) for progress in state.tasks if progress.name in relocked}
    changed[task] = after
    return state.model_copy(update={"tasks": tuple(changed.get(old.name, old) for old in state.tasks)})


def record_all(spec: CurriculumSpec, state: CurriculumState, rewards: Mapping[str, float]) -> CurriculumState:
    """The state after one evaluation of several unlocked tasks; the order of `rewards` does not count.

    Where one of them loses its mastery, the rewards of the tasks it locks are dropped like their earlier ones.
    """
    for task, reward in rewards.items():
        _check_evaluation(spec, state, task, reward)
    for task in (name for name in spec.names if name in rewards):
        if task in unlocked(spec, state):
            state = record(spec, state, task, rewards[task])
    return state


def save(state: CurriculumState) -> dict[str, Any]:
    """The state as plain data that JSON holds exactly."""
    return state.model_dump(mode="json")


def load(spec: CurriculumSpec, saved: Mapping[str, Any]) -> CurriculumState:
    """Read what `save` returned; DataError names what is unknown, missing or does not fit the curriculum."""
    if saved.get("version", _VERSION) != _VERSION:
        raise DataError(
            f"{_SAVED} has version {saved['version']!r}, this release reads {_VERSION}:"
            " continue with the release that wrote it, or start the curriculum again"
        )
    try:
        state = validated(CurriculumState, dict(saved), lambda _: _SAVED, error=DataError)
    except TypeError as problem:
        raise DataError(f"{_SAVED} holds more than plain data: {problem}. Give what `save` returned.") from problem
    by_name = _by_name(spec, state)
    state = CurriculumState(version=_VERSION, tasks=tuple(by_name[name] for name in spec.names))
    for task, status in zip(spec.tasks, statuses(spec, state).values(), strict=True):
        _check_fit(task, by_name[task.name], status)
    return state


def _untouched(name: str) -> TaskProgress:
    return TaskProgress(name=name, scores=(), mastered=False, evaluations=0, promotions=0, demotions=0, relocks=0)


def _status(task: Task, mastered: set[str]) -> TaskStatus:
    if not mastered.issuperset(task.requires):
        return "locked"
    return "mastered" if task.name in mastered else "training"


def _check_evaluation(spec: CurriculumSpec, state: CurriculumState, task: str, reward: float) -> None:
    status = statuses(spec, state).get(task)
    if status is None:
        raise BadInput(
            f"{task!r} is no task of this curriculum; allowed: {', '.join(spec.names)}.{nearest(task, spec.names)}"
        )
    if status == "locked":
        raise BadInput(
            f"task {task!r} is locked, something it requires is not mastered: evaluate one of"
            f" {', '.join(unlocked(spec, state))}"
        )
    if not math.isfinite(reward):
        raise BadInput(f"task {task!r}: the reward is {reward}, it must be finite: leave this evaluation out")


def _with_score(rules: Task, progress: TaskProgress, reward: float) -> TaskProgress:
    scores = (*progress.scores, reward)[-rules.window :]
    return progress.model_copy(update={"scores": scores, "evaluations": progress.evaluations + 1})


def _judged(rules: Task, progress: TaskProgress) -> TaskProgress:
    if len(progress.scores) < rules.minimum_evaluations:
        return progress
    # The exact mean: rewards that all lie on a threshold reach it, whatever their number.
    mean = statistics.mean(progress.scores)
    if progress.mastered and mean < rules.demote_below:
        return progress.model_copy(update={"mastered": False, "scores": (), "demotions": progress.demotions + 1})
    if not progress.mastered and mean >= rules.promote_at:
        return progress.model_copy(update={"mastered": True, "scores": (), "promotions": progress.promotions + 1})
    return progress


def _relocked(progress: TaskProgress) -> TaskProgress:
    return progress.model_copy(update={"mastered": False, "scores": (), "relocks": progress.relocks + 1})


def _built_on(spec: CurriculumSpec, task: str) -> set[str]:
    """Every task that requires this one, directly or through others."""
    above: set[str] = set()
    waiting = [task]
    while waiting:
        name = waiting.pop()
        new = {other.name for other in spec.tasks if name in other.requires} - above
        above |= new
        waiting.extend(new)
    return above


def _by_name(spec: CurriculumSpec, state: CurriculumState) -> dict[str, TaskProgress]:
    by_name = {progress.name: progress for progress in state.tasks}
    for wrong, names in (
        ("holds tasks this curriculum does not have", by_name.keys() - set(spec.names)),
        ("lacks tasks of this curriculum", set(spec.names) - by_name.keys()),
    ):
        if names:
            raise DataError(
                f"{_SAVED} {wrong}: {', '.join(sorted(names))}. Load it with the curriculum it was saved from."
            )
    if len(by_name) != len(state.tasks):
        raise DataError(f"{_SAVED} holds {len(state.tasks)} tasks under {len(by_name)} names: each must occur once")
    return by_name


def _check_fit(task: Task, progress: TaskProgress, status: TaskStatus) -> None:
    for fault in _faults(task, progress, status):
        raise DataError(
            f"{_SAVED}: task {task.name!r} {fault}. Load it with the curriculum it was saved from, or start again."
        )


def _faults(task: Task, progress: TaskProgress, status: TaskStatus) -> Iterator[str]:
    if len(progress.scores) > task.window:
        yield f"has {len(progress.scores)} scores, its window holds {task.window}"
    if len(progress.scores) > progress.evaluations:
        yield f"has {len(progress.scores)} scores from {progress.evaluations} evaluations"
    if status == "locked" and progress.mastered:
        yield f"is mastered although it requires {', '.join(task.requires)}, not all of which are"
    if status == "locked" and progress.scores:
        yield f"has scores although it requires {', '.join(task.requires)}, not all of which are mastered"
