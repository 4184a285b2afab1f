"""The limits that the budget safety job compares spending with: accounts and their campaigns, in a single file."""

from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import Field, NonNegativeInt, PositiveInt

from gaelp.budget.hours import CampaignCaps
from gaelp.budget.pacing import EVEN, DayPlan
from gaelp.budget.rules import RuleSet, load_rules
from gaelp.budget.signals import SignalSettings, load_signals
from gaelp.config.base import Frozen
from gaelp.config.load import load_model
from gaelp.money import Micros

__all__ = ["AccountLimits", "BudgetCheck", "BudgetLimits", "CampaignLimits", "load_budget_check"]


class CampaignLimits(Frozen):
    """What a campaign was given, in micros. Days that differ from the rest are listed by date."""

    daily_micros: PositiveInt = Field(description="its daily budget on the platform")
    day_cap_micros: NonNegativeInt = Field(description="the platform budget's worst case on a day")
    episode_cap_micros: NonNegativeInt = Field(description="its limit in the ledger")
    loss_cap_micros: NonNegativeInt = Field(description="the most that a week may lose")
    conversion_value_micros: PositiveInt
    daily_by_day_micros: dict[date, PositiveInt] = Field(default_factory=dict)
    day_cap_by_day_micros: dict[date, NonNegativeInt] = Field(default_factory=dict)
    reserved_by_day_micros: dict[date, NonNegativeInt] = Field(
        default_factory=dict, description="what the ledger reserved; a day that is not listed had its day cap"
    )

    def daily_on(self, day: date) -> Micros:
        """Its daily budget on a day."""
        return self.daily_by_day_micros.get(day, self.daily_micros)

    def caps_on(self, day: date) -> CampaignCaps:
        """Its caps on a day."""
        return CampaignCaps(
            day_cap_micros=self.day_cap_by_day_micros.get(day, self.day_cap_micros),
            episode_cap_micros=self.episode_cap_micros,
            loss_cap_micros=self.loss_cap_micros,
            conversion_value_micros=self.conversion_value_micros,
        )

    def reserved_on(self, day: date) -> Micros:
        """What was reserved for it on a day."""
        return self.reserved_by_day_micros.get(day, self.day_cap_by_day_micros.get(day, self.day_cap_micros))


class AccountLimits(Frozen):
    """What an ad account may spend on a day of its time zone, and its campaigns by name."""

    time_zone: str = "UTC"
    day_cap_micros: NonNegativeInt
    campaigns: dict[str, CampaignLimits]


class BudgetLimits(Frozen):
    """The limits of all accounts, and the files of configs/budget/ that they are judged by."""

    accounts: dict[str, AccountLimits]
    rules: str = "campaign"
    signals: str = "signals"
    plan: str | None = Field(default=None, description="how a day's money is spread over its hours; none: evenly")
    tolerance_micros: Annotated[int, Field(ge=0)] = Field(
        default=10_000, description="the most by which spend events and platform reports of a campaign-day may differ"
    )
    final_after_hours: Annotated[int, Field(ge=0)] = Field(
        default=72, description="hours after the end of a day in which its costs may still change"
    )


@dataclass(frozen=True, slots=True)
class BudgetCheck:
    """The limits with the rules, signal settings and plan that they name."""

    limits: BudgetLimits
    rules: RuleSet
    signals: SignalSettings
    plan: DayPlan


def load_budget_check(limits: BudgetLimits | str | Path) -> BudgetCheck:
    """Read the limits (a path), and the files that they name; ConfigError says what is wrong."""
    given = limits if isinstance(limits, BudgetLimits) else load_model(BudgetLimits, Path(limits))
    plan = EVEN if given.plan is None else load_model(DayPlan, given.plan, "budget")
    return BudgetCheck(given, load_rules(given.rules), load_signals(given.signals), plan)
