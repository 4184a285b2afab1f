"""Money rules for a campaign: each file under configs/budget/ is a RuleSet, each rule with its reason.

A rule compares a figure with a limit, which is a number or a percentage of another figure. Within it, a rule allows; a
breach alerts, holds or kills, as configured. An unknown figure never allows: it holds or kills, as configured.
"""

from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from gaelp.checks.limit import Bound, Limited
from gaelp.config.base import Frozen
from gaelp.config.load import load_model
from gaelp.config.names import Slug
from gaelp.money import Micros

__all__ = [
    "BudgetRule",
    "Condition",
    "FigureName",
    "OnBreach",
    "RuleDecision",
    "RuleReading",
    "RuleSet",
    "ShareOf",
    "load_rules",
]

RuleDecision = Literal["allow", "hold", "kill"]
OnBreach = Literal["alert", "hold", "kill"]
FigureName = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[a-z][a-z0-9_]*$")]


class RuleReading:
    """A figure and when it was measured; the value is whatever a source reports, even None or NaN.

    Not validated on purpose: a bad value must reach the judge, which names it and holds.
    """

    __slots__ = ("measured_at", "value")

    def __init__(self, value: Micros | float | None, measured_at: datetime) -> None:
        self.value = value
        self.measured_at = measured_at

    def __repr__(self) -> str:
        return f"Reading({self.value!r}, {self.measured_at.isoformat()})"


class ShareOf(Frozen):
    """A limit that is a percentage of another figure, such as a cap; compared exactly."""

    percent: PositiveInt = Field(le=100_000)
    of: FigureName


class Condition(Limited):
    """A second figure: the rule counts as breached only while this figure keeps its limit."""

    figure: FigureName


class BudgetRule(Frozen):
    """A rule: a figure, its bound, and the consequence if it breaks the bound or is unknown."""

    id: Slug
    figure: FigureName
    at_least: float | ShareOf | None = Field(default=None, description="give this or at_most")
    at_most: float | ShareOf | None = Field(default=None, description="give this or at_least")
    breach: OnBreach
    alert_severity: Literal["info", "warning"] = Field(default="info", description="of a breach that only alerts")
    unknown: Literal["hold", "kill"] = Field(description="decision for a missing, stale or non-finite figure")
    maximum_age_minutes: PositiveFloat
    sample_figure: FigureName | None = Field(default=None, description="the figure that counts the data")
    minimum_sample: PositiveFloat | None = Field(default=None, description="below this the rule allows")
    only_if: Condition | None = Field(default=None, description="the breach counts only if this condition is met too")
    why: str = Field(min_length=1, max_length=500, description="what could go wrong without this rule")

    @model_validator(mode="after")
    def _has_one_limit(self) -> Self:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError(f"{self.id}: give exactly one of at_least and at_most")
        return self

    @model_validator(mode="after")
    def _sample_is_whole(self) -> Self:
        if (self.sample_figure is None) != (self.minimum_sample is None):
            raise ValueError(f"{self.id}: sample_figure and minimum_sample go together: give both or neither")
        return self

    @model_validator(mode="after")
    def _little_spending_does_not_kill(self) -> Self:
        if self.breach == "kill" and self.at_least is not None and "spend" in self.figure:
            raise ValueError(
                f"{self.id}: kills when {self.figure} is low, so more spending would end the kill: use hold or alert"
            )
        return self

    @property
    def bound(self) -> Bound:
        """The bound that is set."""
        return "at_most" if self.at_most is not None else "at_least"

    @property
    def threshold(self) -> float | ShareOf:
        """The limit of the figure."""
        threshold = self.at_least if self.at_most is None else self.at_most
        assert threshold is not None  # noqa: S101 - a rule has one of the two
        return threshold

    @property
    def share(self) -> ShareOf | None:
        """The threshold if it is a percentage of a figure; None if it is a number."""
        return self.threshold if isinstance(self.threshold, ShareOf) else None

    @cached_property
    def figures(self) -> tuple[str, ...]:
        """Every figure this rule reads."""
        named = [self.figure, self.sample_figure]
        if self.share is not None:
            named.insert(1, self.share.of)
        if self.only_if is not None:
            named.append(self.only_if.figure)
        return tuple(name for name in named if name is not None)

    @cached_property
    def maximum_age(self) -> timedelta:
        """How old a figure may be."""
        return timedelta(minutes=self.maximum_age_minutes)


class RuleSet(Frozen):
    """The rules for a campaign, account or episode; all of them apply."""

    name: Slug
    rules: tuple[BudgetRule, ...] = Field(min_length=1, max_length=64)

    @model_validator(mode="after")
    def _ids_are_unique(self) -> Self:
        ids = [rule.id for rule in self.rules]
        if repeated := sorted({rule_id for rule_id in ids if ids.count(rule_id) > 1}):
            raise ValueError(f"{', '.join(repeated)}: two rules share an id: give each its own")
        return self

    def figures(self) -> frozenset[str]:
        """Every figure the rules read."""
        return frozenset(name for rule in self.rules for name in rule.figures)


def load_rules(path_or_name: str | Path) -> RuleSet:
    """Read a rule set by its name in configs/budget or by path; ConfigError names what is wrong."""
    return load_model(RuleSet, path_or_name, "budget")
