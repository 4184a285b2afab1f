"""What rules and jobs need of each campaign of a pilot: the value of a conversion, the most it may lose and spend."""

from gaelp.budget.platform_budget import Overdelivery, day_worst_micros
from gaelp.config.settings import CampaignBudgetSettings, Settings
from gaelp.jobs.budget_limits import AccountLimits, BudgetLimits, CampaignLimits
from gaelp.money import Micros
from gaelp.pilot.pilot_plan import PilotCampaign, PilotPlan

__all__ = ["plan_limits", "with_campaign_budgets"]

_RULES = "pilot"  # configs/budget/pilot.yaml

_DAYS, _CONVERSIONS = 4, 4  # below so many daily budgets and values bad luck alone stops healthy campaigns


def with_campaign_budgets(settings: Settings, plan: PilotPlan) -> Settings:
    """Settings with both values for each campaign of the plan; those that the settings give for a campaign are kept."""
    campaigns = dict(settings.budget.campaigns)
    for campaign in plan.campaigns:
        own = campaigns.get(campaign.name, CampaignBudgetSettings())
        loss_cap = own.loss_cap_micros if own.loss_cap_micros is not None else settings.budget.loss_cap_micros
        campaigns[campaign.name] = CampaignBudgetSettings(
            conversion_value_micros=own.conversion_value_micros or campaign.conversion_value_micros,
            loss_cap_micros=_loss_cap_micros(campaign) if loss_cap is None else loss_cap,
        )
    return settings.model_copy(update={"budget": settings.budget.model_copy(update={"campaigns": campaigns})})


def _loss_cap_micros(campaign: PilotCampaign) -> Micros:
    return _DAYS * campaign.daily_micros + _CONVERSIONS * campaign.conversion_value_micros


def plan_limits(plan: PilotPlan, terms: Overdelivery) -> BudgetLimits:
    """What the job `budget_safety` compares the stored spend of a pilot with."""
    campaigns = {
        campaign.name: CampaignLimits(
            daily_micros=plan.highest_daily_micros(campaign),
            day_cap_micros=day_worst_micros(plan.highest_daily_micros(campaign), terms),
            episode_cap_micros=day_worst_micros(plan.highest_daily_micros(campaign), terms) * plan.days,
            loss_cap_micros=_loss_cap_micros(campaign),
            conversion_value_micros=campaign.conversion_value_micros,
        )
        for campaign in plan.campaigns
    }
    account = AccountLimits(time_zone=plan.time_zone, day_cap_micros=plan.day_worst_micros(terms), campaigns=campaigns)
    return BudgetLimits(accounts={plan.account: account}, rules=_RULES, final_after_hours=24 * terms.revised_days)
