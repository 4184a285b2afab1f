"""A limit on one metric of an evaluation, and which of the metric's confidence bounds has to keep it."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from gaelp.checks.limit import Limited

__all__ = ["INTERVAL_ENDS", "Compared", "Goal", "Metric"]

Compared = Literal["value", "lower_95", "upper_95"]
INTERVAL_ENDS: tuple[Compared, ...] = ("lower_95", "upper_95")


def _without_interval_end(metric: str) -> str:
    if metric.endswith(tuple(f"_{end}" for end in INTERVAL_ENDS)):
        raise ValueError(f"saw {metric!r}; allowed: the metric itself. Say under compare which of its bounds counts.")
    return metric


Metric = Annotated[
    str, Field(min_length=1, max_length=64, pattern=r"^[a-z][a-z0-9_]*$"), AfterValidator(_without_interval_end)
]


class Goal(Limited):
    """A metric and the limit that its value, or the cautious bound of its 95% interval, must keep.

    With `compare` other than "value" the figure is read from `<metric>_<compare>`, such as `reward_lower_95`. If that
    is missing the goal is not met: the value never replaces it. The bound that flatters the agent cannot be chosen.
    """

    metric: Metric
    compare: Compared

    @model_validator(mode="after")
    def _compares_the_cautious_bound(self) -> Self:
        cautious = "lower_95" if self.limit.asks_for_more else "upper_95"
        if self.compare not in ("value", cautious):
            raise ValueError(
                f"{self.metric}: {self.bound} compares {self.compare}, the hopeful bound; allowed: value, {cautious}"
            )
        return self

    @property
    def figure(self) -> str:
        """The name of the figure that is compared."""
        return self.metric if self.compare == "value" else f"{self.metric}_{self.compare}"
