"""One comparator: a figure against a threshold, at least, at most, above or below it; a missing figure never holds."""

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, Self, get_args

from pydantic import SerializerFunctionWrapHandler, model_serializer, model_validator

from gaelp.config.base import Frozen

__all__ = ["BOUNDS", "Bound", "Limit", "Limited"]

Bound = Literal["at_least", "at_most", "above", "below"]
BOUNDS: tuple[Bound, ...] = get_args(Bound)

_COMPARE: dict[Bound, Callable[[Any, Any], bool]] = {
    "at_least": operator.ge,
    "at_most": operator.le,
    "above": operator.gt,
    "below": operator.lt,
}
_SIGNS: dict[Bound, str] = {"at_least": ">=", "at_most": "<=", "above": ">", "below": "<"}


@dataclass(frozen=True, slots=True)
class Limit:
    """A bound and its threshold; comparisons of integers and fractions are exact."""

    bound: Bound
    threshold: float | Fraction

    def holds(self, figure: float | Fraction | None) -> bool:
        """Whether the figure keeps the limit; one that is missing, NaN or infinite does not."""
        return _is_finite(figure) and _COMPARE[self.bound](figure, self.threshold)

    def margin(self, figure: float) -> float:
        """By how much the figure keeps the limit; negative: by how much it misses it."""
        beyond = figure - float(self.threshold)
        return beyond if self.asks_for_more else -beyond

    @property
    def asks_for_more(self) -> bool:
        """Whether a larger figure is the better one."""
        return self.bound in ("at_least", "above")

    @property
    def words(self) -> str:
        """The bound in words, such as "at least"."""
        return self.bound.replace("_", " ")

    @property
    def sign(self) -> str:
        """The bound as a sign, such as ">="."""
        return _SIGNS[self.bound]


def _is_finite(figure: float | Fraction | None) -> bool:
    # math.isfinite raises for an integer or a fraction beyond the range of floats.
    return isinstance(figure, int | Fraction) or (figure is not None and math.isfinite(figure))


class Limited(Frozen):
    """A model with exactly one limit: files say `at_least: 0.7`, records keep `bound` and `threshold`.

    Both forms are read. The second is written, because the hashes of stored verdicts and runs depend on it.
    """

    record_threshold: ClassVar[str] = "threshold"  # what records call the threshold

    at_least: float | None = None
    at_most: float | None = None
    above: float | None = None
    below: float | None = None

    @model_validator(mode="before")
    @classmethod
    def _read_record(cls, values: Any) -> Any:
        if not isinstance(values, Mapping) or values.get("bound") not in BOUNDS or values.keys() & set(BOUNDS):
            return values
        record = dict(values)
        return {record.pop("bound"): record.pop(cls.record_threshold, None)} | record

    @model_validator(mode="after")
    def _has_one_limit(self) -> Self:
        given = [bound for bound in BOUNDS if getattr(self, bound) is not None]
        if len(given) != 1:
            raise ValueError(f"saw {', '.join(given) or 'no limit'}; allowed: exactly one of {', '.join(BOUNDS)}")
        return self

    @model_serializer(mode="wrap")
    def _as_record(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values = write(self)
        record = {key: value for key, value in values.items() if key not in BOUNDS}
        return record | {"bound": self.bound, self.record_threshold: values[self.bound]}

    @property
    def bound(self) -> Bound:
        """Which of the four bounds is given."""
        return self.limit.bound

    @property
    def threshold(self) -> float:
        """What a figure is compared with."""
        return float(self.limit.threshold)

    @property
    def limit(self) -> Limit:
        """What a figure must keep."""
        return next(Limit(bound, value) for bound in BOUNDS if (value := getattr(self, bound)) is not None)
