"""What the money rules need of each campaign of a pilot: the value of a conversion, and the most a week may lose."""

from gaelp.config.settings import CampaignBudgetSettings, Settings
from gaelp.money import Micros
from gaelp.pilot.pilot_plan import PilotCampaign, PilotPlan

__all__ = ["with_campaign_budgets"]

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
