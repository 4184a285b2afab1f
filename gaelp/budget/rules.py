"""What the money of a campaign must keep to: one file under configs/budget/ is one RuleSet, each rule with its why.

A rule holds one figure to a limit, which is a number or a percentage of another figure. Keeping it allows; a breach
alerts, holds or kills, as the rule says. What a rule cannot know never allows: it holds or kills, as the rule says.
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
    """One figure and when it was measured; the value may be anything a source reports, None and NaN among it.

    Plain and not checked on purpose: a bad value must reach the judge, who names it and holds.
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
    """A second figure that must keep its limit for a rule to be breached."""

    figure: FigureName


class BudgetRule(Frozen):
    """One rule: a figure, the bound it must keep, and what follows if it does not or cannot be known."""

    id: Slug
    figure: FigureName
    at_least: float | ShareOf | None = Field(default=None, description="give this or at_most")
    at_most: float | ShareOf | None = Field(default=None, description="give this or at_least")
    breach: OnBreach
    alert_severity: Literal["info", "warning"] = Field(default="info", description="of a breach that only alerts")
    unknown: Literal["hold", "kill"] = Field(description="what a missing, stale or non-finite figure leads to")
    maximum_age_minutes: PositiveFloat
    sample_figure: FigureName | None = Field(default=None, description="the figure that says how much data there is")
    minimum_sample: PositiveFloat | None = Field(default=None, description="with less the rule is not judged yet")
    only_if: Condition | None = Field(default=None, description="the breach counts only together with this one")
    why: str = Field(min_length=1, max_length=500, description="what would go wrong without this rule")

    @model_validator(mode="after")
    def _has_one_limit(self) -> Self:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError(f"{self.id}: give exactly one of at_least and at_most")
        return self

    @model_validator(mode="after")
    def _sample_is_whole(self) -> Self:
        if (self.sample_figure is None) != (self.minimum_sample is None):
            raise ValueError(f"{self.id}: sample_figure and minimum_sample belong together: give both or neither")
        return self

    @model_validator(mode="after")
    def _little_spending_does_not_kill(self) -> Self:
        if self.breach == "kill" and self.at_least is not None and "spend" in self.figure:
            raise ValueError(
                f"{self.id}: kills when {self.figure} is low, so spending more would lift the kill: hold or alert"
            )
        return self

    @property
    def bound(self) -> Bound:
        """Which of the two bounds is given."""
        return "at_most" if self.at_most is not None else "at_least"

    @property
    def threshold(self) -> float | ShareOf:
        """What the figure is compared with."""
        threshold = self.at_least if self.at_most is None else self.at_most
        assert threshold is not None  # noqa: S101 - a rule has one of the two
        return threshold

    @property
    def share(self) -> ShareOf | None:
        """What the threshold is a percentage of; none: it is a number."""
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
    """The rules that all hold for one campaign, account or episode."""

    name: Slug
    rules: tuple[BudgetRule, ...] = Field(min_length=1, max_length=64)

    @model_validator(mode="after")
    def _each_id_stands_once(self) -> Self:
        ids = [rule.id for rule in self.rules]
        if repeated := sorted({rule_id for rule_id in ids if ids.count(rule_id) > 1}):
            raise ValueError(f"{', '.join(repeated)}: two rules with one id: give each its own")
        return self

    def figures(self) -> frozenset[str]:
        """Every figure the rules read."""
        return frozenset(name for rule in self.rules for name in rule.figures)


def load_rules(path_or_name: str | Path) -> RuleSet:
    """Read a rule set by its name in configs/budget or by path; ConfigError names what is wrong."""
    return load_model(RuleSet, path_or_name, "budget")
