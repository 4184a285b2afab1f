"""The budgets that were decided for a day, with the figures and the reason of each, for the record."""

from typing import Any

from gaelp.config.base import Frozen
from gaelp.money import Micros

__all__ = ["BudgetDecision", "CampaignBudget", "budget_figures"]


class CampaignBudget(Frozen):
    """One campaign's budget before and after, and why; figures are None where nothing was fitted."""

    campaign: str
    before_micros: Micros
    after_micros: Micros
    why: str
    return_value: float | None = None  # value for each dollar, at the budget before
    return_lower: float | None = None
    next_dollar_lower: float | None = None  # value of one more dollar, by lower bounds
    used_share: float | None = None
    days: int = 0


class BudgetDecision(Frozen):
    """All budgets of a day; where they were split by value, the price of money and the gap to the best split too."""

    campaigns: tuple[CampaignBudget, ...]
    why: str
    total_micros: Micros | None = None
    price: float | None = None
    gap_micros: float | None = None

    @property
    def daily_micros(self) -> tuple[Micros, ...]:
        """The budgets of the day, in the order of the plan."""
        return tuple(each.after_micros for each in self.campaigns)

    @property
    def changed(self) -> tuple[CampaignBudget, ...]:
        """Only those that are not what they were."""
        return tuple(each for each in self.campaigns if each.after_micros != each.before_micros)


def budget_figures(decision: BudgetDecision) -> dict[str, Any]:
    """A decision as the record stores it: totals, and one entry for each campaign."""
    return {
        "why": decision.why,
        "before_micros": sum(each.before_micros for each in decision.campaigns),
        "after_micros": sum(decision.daily_micros),
        "total_micros": decision.total_micros,
        "price": decision.price,
        "gap_micros": decision.gap_micros,
        "campaigns": [each.model_dump(exclude_none=True) for each in decision.campaigns],
    }
