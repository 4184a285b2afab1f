"""Which ranges a market may draw its numbers from: each end within the limits of its key, and no two at odds."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from gaelp.config.allowed_values import allowed_range
from gaelp.config.problems import KeyPath
from gaelp.config.schema import constraints_at
from gaelp.config.suggest import nearest

__all__ = ["ranges_refused", "value_at"]

_RISING = (("budget.share_low", "budget.share_high"), ("budget.daily_low", "budget.daily_high"))

Ranges = Mapping[str, tuple[float, float]]
Refusals = list[tuple[KeyPath, str]]


def ranges_refused(spec: BaseModel, ranges: Ranges, *, allowed: tuple[str, ...]) -> Refusals:
    """What is wrong with the ranges under `randomise`, each with its key path."""
    refusals = [refusal for path in ranges for refusal in _range_refused(spec, path, ranges[path], allowed)]
    return refusals or [refusal for low, high in _RISING for refusal in _pair_refused(spec, ranges, low, high)]


def _range_refused(
    spec: BaseModel, path: str, ends: tuple[float, float], allowed: tuple[str, ...]
) -> Iterator[tuple[KeyPath, str]]:
    here: KeyPath = ("randomise", path)
    if path not in allowed:
        yield here, f"cannot vary between campaigns; allowed: {', '.join(allowed)}.{nearest(path, allowed)}"
        return
    for index, end in enumerate(ends):
        limits = _limits(spec, path)
        if not _fits(limits, end):
            whole = "a whole number " if limits[0] is int else ""
            yield (*here, index), f"saw {end:g}; allowed: {whole}{allowed_range(limits[1:])}, as for {path} itself."
    if ends[0] > ends[1]:
        yield here, f"runs from {ends[0]:g} to {ends[1]:g}; allowed: the smaller end first. Swap them."


def _limits(spec: BaseModel, path: str) -> tuple[object, ...]:
    """The type of a number and all that is asked of it."""
    section, key = path.split(".")
    part = type(getattr(spec, section))
    return (part.model_fields[key].annotation, *constraints_at(part, (key,)))


def _fits(limits: tuple[object, ...], end: float) -> bool:
    # Alone, not in its section: there it would be compared with numbers that have ranges of their own.
    kind: Any = Annotated[limits]
    try:
        TypeAdapter(kind).validate_python(end)
    except ValidationError:
        return False
    return True


def _pair_refused(spec: BaseModel, ranges: Ranges, low: str, high: str) -> Iterator[tuple[KeyPath, str]]:
    """A campaign draws the two independently: the largest lower one must not exceed the smallest upper one."""
    largest, smallest = ranges.get(low, (value_at(spec, low),) * 2)[1], ranges.get(high, (value_at(spec, high),) * 2)[0]
    if largest <= smallest:
        return
    # Reported at a range, not at a fixed number that would be right without it.
    path, index = (low, 1) if low in ranges else (high, 0)
    low_key, high_key = low.partition(".")[2], high.partition(".")[2]
    text = (
        f"a campaign could draw {low_key}={largest:g} above {high_key}={smallest:g}; allowed: every {low_key} at most"
        f" every {high_key}. Narrow the range{'s' if low in ranges and high in ranges else ''}."
    )
    yield ("randomise", path, index), text


def value_at(spec: BaseModel, path: str) -> float:
    """The number a market has at a key path such as price.level_micros."""
    section, key = path.split(".")
    return float(getattr(getattr(spec, section), key))
