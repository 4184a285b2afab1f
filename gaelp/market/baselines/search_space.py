"""The parameters a tuner may move: every bounded number of a model, drawn at random or near a good one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import exp, log
from typing import Any

import numpy as np
from annotated_types import Ge, Le
from pydantic.fields import FieldInfo

from gaelp.config.base import Frozen

__all__ = ["Range", "SearchSpace"]

_LOG_SCALE_RATIO = 10.0  # a positive range this wide is searched by order of magnitude
_DIGITS = 4  # kept of each value, so that what was scored is what the file says
_MOVED_SHARE = 0.5  # of the parameters, in a step of local refinement

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """One parameter and the bounds of its field."""

    path: Path
    low: float
    high: float

    @property
    def by_magnitude(self) -> bool:
        """Whether the logarithm is searched evenly rather than the number."""
        return self.low > 0 and self.high / self.low >= _LOG_SCALE_RATIO

    def to_unit(self, value: float) -> float:
        """Where a value lies in the range, 0 to 1."""
        low, high, at = (
            (log(x) for x in (self.low, self.high, value)) if self.by_magnitude else (self.low, self.high, value)
        )
        return (at - low) / (high - low)

    def from_unit(self, unit: float) -> float:
        """The value at a place in the range, rounded and kept inside."""
        low, high = (log(self.low), log(self.high)) if self.by_magnitude else (self.low, self.high)
        at = low + min(max(unit, 0.0), 1.0) * (high - low)
        value = exp(at) if self.by_magnitude else at
        return min(max(float(f"{value:.{_DIGITS}g}"), self.low), self.high)


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """A model's bounded numbers; the rest keeps its defaults."""

    model: type[Frozen]
    ranges: tuple[Range, ...]

    @classmethod
    def of(cls, model: type[Frozen], *, without: frozenset[str] = frozenset()) -> "SearchSpace":
        """The space of a model, leaving out every parameter with one of these keys on its path."""
        ranges = tuple(item for item in _ranges(model, ()) if not without.intersection(item.path))
        return cls(model, ranges)

    def default(self) -> Frozen:
        """The model's own defaults."""
        return self.model.model_validate({})

    def draw(self, rng: np.random.Generator) -> Frozen:
        """A point anywhere in the space."""
        return self._build({item.path: item.from_unit(rng.random()) for item in self.ranges})

    def near(self, rng: np.random.Generator, point: Frozen, scale: float) -> Frozen:
        """A point near another: some of its parameters moved, by `scale` of their range on average."""
        moved = rng.random(len(self.ranges)) < _MOVED_SHARE
        if self.ranges:
            moved[rng.integers(len(self.ranges))] = True
        steps = scale * rng.standard_normal(len(self.ranges)) * moved
        values = {}
        for item, step in zip(self.ranges, steps, strict=True):
            value = _value_at(point, item.path)
            values[item.path] = item.from_unit(item.to_unit(value) + step) if step else value
        return self._build(values)

    def _build(self, values: Mapping[Path, float]) -> Frozen:
        tree: dict[str, Any] = {}
        for path, value in values.items():
            section = tree
            for key in path[:-1]:
                section = section.setdefault(key, {})
            section[path[-1]] = value
        return self.model.model_validate(tree)


def _ranges(model: type[Frozen], above: Path) -> Iterator[Range]:
    for name, info in model.model_fields.items():
        kind = info.annotation
        if isinstance(kind, type) and issubclass(kind, Frozen):
            yield from _ranges(kind, (*above, name))
        elif kind is float and (bounds := _bounds(info)) is not None:
            yield Range((*above, name), *bounds)


def _bounds(info: FieldInfo) -> tuple[float, float] | None:
    low = [float(item.ge) for item in info.metadata if isinstance(item, Ge)]  # type: ignore[arg-type]  # bounds of floats
    high = [float(item.le) for item in info.metadata if isinstance(item, Le)]  # type: ignore[arg-type]  # as above
    return (low[0], high[0]) if low and high else None


def _value_at(point: Frozen, path: Path) -> float:
    value: Any = point
    for key in path:
        value = getattr(value, key)
    return float(value)
