"""The inputs of an account's money rules: the files that the settings name, and the caps of each campaign."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from gaelp.budget.hours import CampaignCaps
from gaelp.budget.ledger import Cap, CapKind, known_limit
from gaelp.budget.pacing import EVEN, DayPlan
from gaelp.budget.platform_budget import day_worst_micros
from gaelp.budget.rules import RuleSet, load_rules
from gaelp.budget.signals import SignalSettings, load_signals
from gaelp.config.load import load_model
from gaelp.config.settings import BudgetSettings
from gaelp.errors import ConfigError, GaelpError
from gaelp.money import Micros
from gaelp.platforms.guard import Guard
from gaelp.platforms.order_book import orders_of_day
from gaelp.platforms.renewal import budget_in_force
from gaelp.platforms.unknown_outcomes import was_sent

__all__ = ["MoneyRules", "caps_of_campaign", "check_money_rules", "daily_budget_micros", "load_money_rules"]

_VALUES: Mapping[str, str] = {
    "conversion_value_micros": "what a conversion is worth",
    "loss_cap_micros": "what a week may lose",
}


@dataclass(frozen=True, slots=True)
class MoneyRules:
    """The rules, the signal settings, and the day plan."""

    rules: RuleSet
    signals: SignalSettings
    plan: DayPlan
    settings: BudgetSettings

    @property
    def maximum_age(self) -> timedelta:
        """The maximum age of figures that satisfies every rule."""
        return min(rule.maximum_age for rule in self.rules.rules)


def load_money_rules(settings: BudgetSettings) -> MoneyRules:
    """Read the files that the settings name; ConfigError says what is wrong with them."""
    plan = EVEN if settings.plan is None else load_model(DayPlan, settings.plan, "budget")
    return MoneyRules(load_rules(settings.rules), load_signals(settings.signals), plan, settings)


def check_money_rules(settings: BudgetSettings) -> None:
    """Refuse settings without a value that every campaign needs; called if a platform is named."""
    load_money_rules(settings)
    for key in _VALUES:
        own = [getattr(campaign, key) for campaign in settings.campaigns.values()]
        if getattr(settings, key) is None and (not own or None in own):
            raise ConfigError(_missing(key, "NAME"))


def daily_budget_micros(guard: Guard, campaign: str, day: date) -> Micros:
    """The highest daily budget of a day: money may have been spent before it was lowered."""
    given = [
        row.daily_micros
        for row in orders_of_day(guard.ledger, guard.account.id, day.isoformat(), campaign)
        if row.kind == "budget" and was_sent(guard, row)
    ]
    if given:
        return max(given)
    approved = budget_in_force(guard, campaign)
    if approved is None:
        raise GaelpError(f"{campaign} was never given a budget, so what it may cost is unknown: order one")
    return approved.daily_micros


def caps_of_campaign(guard: Guard, rules: MoneyRules, campaign: str, day: date) -> CampaignCaps:
    """The caps of a campaign on a day of the account; raise for a missing one, with the way to set it."""
    limit = known_limit(guard.ledger, Cap(CapKind.CAMPAIGN, campaign))
    if limit is None:
        raise GaelpError(
            f"{campaign} has no limit in the ledger:"
            f" `gaelp ledger limit campaign {campaign} AMOUNT --account {guard.account.id}` sets one"
        )
    return CampaignCaps(
        day_cap_micros=day_worst_micros(daily_budget_micros(guard, campaign, day), guard.terms),
        episode_cap_micros=limit.micros,
        loss_cap_micros=_value(rules.settings, campaign, "loss_cap_micros"),
        conversion_value_micros=_value(rules.settings, campaign, "conversion_value_micros"),
    )


def _value(settings: BudgetSettings, campaign: str, key: str) -> Micros:
    own = getattr(settings.campaigns.get(campaign), key, None)
    value: Micros | None = getattr(settings, key) if own is None else own
    if value is None:
        raise ConfigError(_missing(key, campaign))
    return value


def _missing(key: str, campaign: str) -> str:
    return (
        f"budget.{key} is not set, and without {_VALUES[key]} no campaign may spend: set it, or"
        f" budget.campaigns.{campaign}.{key} for one campaign, in micros of the account's currency"
    )
