"""The worst-case cost of a platform's daily budget: what to reserve for it, and the largest budget that fits a cap.

Platforms treat a daily budget as an average, not a cap. Everything here is whole micros and rounds to the safe side:
costs up, budgets down. No function uses actual spend.
"""

from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, PositiveInt, model_validator

from gaelp.config.base import Frozen
from gaelp.config.load import load_model
from gaelp.config.names import Slug
from gaelp.errors import MoneyError, Refused
from gaelp.money import MAX_MICROS, Micros

__all__ = [
    "BudgetChange",
    "Overdelivery",
    "PlatformBudget",
    "PlatformTerms",
    "change_budget",
    "day_worst_micros",
    "largest_budget_micros",
    "load_platform_terms",
    "span_worst_micros",
    "total_worst_micros",
]


class Overdelivery(Frozen):
    """How much a platform may spend on a daily budget, in percent of it."""

    platform: Slug
    day_percent: int = Field(ge=100, le=10_000)
    period: Literal["week", "month"] = Field(description="a week from Sunday on, or a calendar month")
    period_percent: int = Field(ge=100, le=100_000)
    step_micros: PositiveInt = Field(description="budgets are multiples of this, such as a cent")
    revised_days: int = Field(default=7, ge=0, le=90, description="days after its end on which a day may be revised")
    report_lag_hours: int = Field(default=0, ge=0, le=48, description="how long an ended hour takes to be reported")
    why: str = Field(min_length=1, max_length=400)

    @model_validator(mode="after")
    def _a_period_holds_a_day(self) -> Self:
        if self.period_percent < self.day_percent:
            raise ValueError(
                f"{self.platform}: period_percent={self.period_percent} is below day_percent={self.day_percent}:"
                " a period has at least one day, so raise it"
            )
        return self


class PlatformTerms(Frozen):
    """The terms of every known platform."""

    platforms: tuple[Overdelivery, ...] = Field(min_length=1, max_length=32)

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        names = [terms.platform for terms in self.platforms]
        if len(names) != len(set(names)):
            raise ValueError(f"listed twice among {', '.join(names)}: keep the entry with the higher percents")
        return self

    def of(self, platform: str) -> Overdelivery:
        """The terms of a platform; an unknown platform has no worst case and is refused."""
        for terms in self.platforms:
            if terms.platform == platform:
                return terms
        known = ", ".join(terms.platform for terms in self.platforms)
        raise Refused(
            f"no overdelivery terms for {platform!r}, known: {known}. Add them to configs/budget/platforms.yaml"
        )


class PlatformBudget(Frozen):
    """A daily budget that is or was in force on a platform today."""

    terms: Overdelivery
    daily_micros: int = Field(ge=0, le=MAX_MICROS)


class BudgetChange(Frozen):
    """What a new daily budget needs: the day's total reservation, and how much of it is not reserved yet."""

    daily_micros: int
    day_reserve_micros: int
    extra_micros: int = Field(ge=0)


def load_platform_terms(path_or_name: str | Path = "platforms") -> PlatformTerms:
    """Read the terms from configs/budget or from a path; ConfigError names what is wrong."""
    return load_model(PlatformTerms, path_or_name, "budget")


def day_worst_micros(daily_micros: Micros, terms: Overdelivery) -> Micros:
    """The most that a day can cost, rounded up."""
    return _percent_up(_require_micros(daily_micros), terms.day_percent)


def span_worst_micros(daily_micros: Micros, terms: Overdelivery, first: date, last: date) -> Micros:
    """The most that the days from `first` to `last` (both included) can cost, limited per day and per period."""
    if last < first:
        raise MoneyError(f"the span ends on {last}, before it begins on {first}: swap them")
    day, period = day_worst_micros(daily_micros, terms), _percent_up(daily_micros, terms.period_percent)
    return sum(min(days * day, period) for days in _days_by_period(terms, first, last))


def largest_budget_micros(cap_micros: Micros, terms: Overdelivery) -> Micros:
    """The largest daily budget, a multiple of the platform's step, whose worst day stays within a cap; may be zero."""
    exact = _require_micros(cap_micros) * 100 // terms.day_percent
    return exact - exact % terms.step_micros


def total_worst_micros(budgets: Iterable[PlatformBudget]) -> Micros:
    """What all budgets together can cost on their worst day."""
    return sum(day_worst_micros(budget.daily_micros, budget.terms) for budget in budgets)


def change_budget(
    new: PlatformBudget, *, earlier_today: Sequence[Micros], others: Iterable[PlatformBudget], cap_micros: Micros
) -> BudgetChange:
    """What to reserve before a campaign gets a new daily budget; Refused if it exceeds the account's cap.

    `earlier_today` are this campaign's budgets that were in force at any time today: the platform may already have
    spent the worst case of the highest, so lowering a budget frees nothing before tomorrow.
    """
    before = max((_require_micros(budget) for budget in earlier_today), default=0)
    reserved = day_worst_micros(before, new.terms)
    needed = max(day_worst_micros(new.daily_micros, new.terms), reserved)
    beside = total_worst_micros(others)
    if beside + needed > _require_micros(cap_micros):
        fits = largest_budget_micros(max(cap_micros - beside, 0), new.terms)
        raise Refused(
            f"a daily budget of {new.daily_micros} micros on {new.terms.platform} may cost {needed} today, and others"
            f" {beside}; the account's cap is {cap_micros}. The largest budget that fits is {fits}."
        )
    return BudgetChange(daily_micros=new.daily_micros, day_reserve_micros=needed, extra_micros=needed - reserved)


def _percent_up(micros: Micros, percent: int) -> Micros:
    return -(-micros * percent // 100)


def _days_by_period(terms: Overdelivery, first: date, last: date) -> list[int]:
    """How many days of the span fall into each calendar week or month it touches."""
    counts: dict[date, int] = {}
    for offset in range((last - first).days + 1):
        start = _period_start(terms, first + timedelta(days=offset))
        counts[start] = counts.get(start, 0) + 1
    return list(counts.values())


def _period_start(terms: Overdelivery, day: date) -> date:
    return day.replace(day=1) if terms.period == "month" else day - timedelta(days=day.isoweekday() % 7)


def _require_micros(micros: object) -> Micros:
    # The exact type: bool is a subclass of int, and a float may have lost cents.
    if type(micros) is not int or not 0 <= micros <= MAX_MICROS:
        raise MoneyError(f"{micros!r} ({type(micros).__name__}) is not a budget: give whole micros, 0 to {MAX_MICROS}")
    return micros
