"""From a task to the market it plays: the market file, the task's overrides, then its ranges."""

from collections.abc import Iterator, Mapping
from typing import Any

from gaelp.config.validation import validated
from gaelp.errors import ConfigError, DataError
from gaelp.market.build import load_market_spec
from gaelp.market.spec import MarketSpec
from gaelp.training.curriculum_spec import CurriculumSpec, Task

__all__ = ["build_task", "build_tasks"]


def build_tasks(spec: CurriculumSpec) -> dict[str, MarketSpec]:
    """Every task's market, so that a mistake in the last task is reported before the first is trained."""
    return {task.name: build_task(task) for task in spec.tasks}


def build_task(task: Task) -> MarketSpec:
    """The market of a task, called after it; ConfigError names the task and the key that does not fit the market.

    Mappings of the overrides merge into the market's, everything else replaces. An override removes the market file's
    own range for its key, which would hide it. A range of the task varies what happens; what the bidder knows, such as
    the average click rate, stays the single value.
    """
    values = _laid_over(_market(task).model_dump(mode="json"), task.overrides)
    # Dropped before the check, put back after: a range of the file may not fit an override that removes it.
    ranges = _ranges(values.pop("randomise"), task)
    _check(task, values, "overrides")
    for path, end in _range_ends(task):
        _check(task, _laid_over(values, _nested(path, end)), "randomise")
    named = {"name": task.name, "label": _label(task, values["label"]), "randomise": ranges}
    return _check(task, values | named, "overrides and randomise")


def _market(task: Task) -> MarketSpec:
    try:
        return load_market_spec(task.market)
    except DataError as problem:
        raise DataError(f"task {task.name!r}: market: {problem}") from problem


def _check(task: Task, values: Mapping[str, Any], part: str) -> MarketSpec:
    return validated(MarketSpec, values, lambda _: f"task {task.name!r}, {part}", error=ConfigError)


def _laid_over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            merged[key] = _laid_over(old, value)
        else:
            merged[key] = value
    return merged


def _ranges(market: Mapping[str, Any], task: Task) -> dict[str, Any]:
    kept = {path: ends for path, ends in market.items() if not _is_overridden(path, task)}
    return kept | {path: list(ends) for path, ends in task.randomise.items()}


def _is_overridden(path: str, task: Task) -> bool:
    section, key = path.split(".")
    overrides = task.overrides.get(section)
    return isinstance(overrides, Mapping) and key in overrides


def _range_ends(task: Task) -> Iterator[tuple[str, float]]:
    for path, ends in task.randomise.items():
        for end in ends:
            # Whole numbers stay whole: some keys take nothing else.
            yield path, int(end) if end.is_integer() else end


def _nested(path: str, value: float) -> dict[str, Any]:
    section, key = path.split(".")
    return {section: {key: value}}


def _label(task: Task, label: object) -> object:
    """The market's own label is wrong once a task changes the market."""
    untouched = not (task.overrides or task.randomise) or "label" in task.overrides
    return label if untouched else f"{label or task.market}, changed for task {task.name}"
