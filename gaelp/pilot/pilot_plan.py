"""The plan of a pilot: campaigns, days, money and the model that decides; people sign it as a mandate."""

from datetime import date, timedelta
from typing import Annotated, Self

from pydantic import Field, PositiveInt, model_validator

from gaelp.approvals import Mandate
from gaelp.budget.platform_budget import Overdelivery, day_worst_micros
from gaelp.config.base import Frozen
from gaelp.config.field_types import Sha256
from gaelp.config.names import Name, refuse_repeats
from gaelp.content import Creative, creative_hash
from gaelp.money import Micros

__all__ = ["PilotCampaign", "PilotPlan", "pilot_mandate"]

_PositiveMicros = Annotated[int, Field(gt=0)]


class PilotCampaign(Frozen):
    """A campaign that the agent drives; targets are its ad groups, one for each segment of the logged campaign."""

    name: Name  # on the platform
    logged_as: str = Field(min_length=1, description="the logged campaign that its segments are known from")
    daily_micros: _PositiveMicros
    conversion_value_micros: _PositiveMicros
    targets: tuple[str, ...] = Field(min_length=1)
    reference_bids_micros: tuple[_PositiveMicros, ...] = Field(description="the usual bid for a click of each target")
    creative: Creative

    @model_validator(mode="after")
    def _one_bid_a_target(self) -> Self:
        if len(self.targets) != len(self.reference_bids_micros):
            raise ValueError(
                f"campaign {self.name} has {len(self.targets)} targets and {len(self.reference_bids_micros)} reference"
                " bids: give one bid for each target"
            )
        refuse_repeats("target", self.targets)
        return self


class PilotPlan(Frozen):
    """Everything that is fixed before the first dollar; days are those of the account's time zone."""

    name: Name  # of the pilot and its mandate, such as the run's id
    account: str = Field(min_length=1)
    currency: str = Field(min_length=3, max_length=3)
    time_zone: str = Field(min_length=1)
    model_hash: Sha256
    campaigns: tuple[PilotCampaign, ...] = Field(min_length=1)
    first_day: date
    days: PositiveInt
    settle_days: int = Field(ge=0)
    reach: float = Field(gt=1, description="bids stay within this factor of the reference bids")
    bid_ceiling_micros: _PositiveMicros
    loss_cap_micros: _PositiveMicros
    raise_percent: int = Field(default=0, ge=0, description="how much more than the day before a budget may be")
    raised_daily_micros: _PositiveMicros | None = Field(
        default=None, description="the most that a budget may be raised to; none: budgets are not raised"
    )

    @model_validator(mode="after")
    def _each_campaign_once(self) -> Self:
        refuse_repeats("campaign", [campaign.name for campaign in self.campaigns])
        refuse_repeats("logged campaign", [campaign.logged_as for campaign in self.campaigns])
        return self

    @property
    def last_day(self) -> date:
        """The last day on which money is spent."""
        return self.first_day + timedelta(days=self.days - 1)

    @property
    def settled_day(self) -> date:
        """The day after which the pilot is judged."""
        return self.last_day + timedelta(days=self.settle_days)

    @property
    def daily_micros(self) -> Micros:
        """Sum of the daily budgets."""
        return sum(campaign.daily_micros for campaign in self.campaigns)

    @property
    def budget_micros(self) -> Micros:
        """Sum of all daily budgets over all days."""
        return self.daily_micros * self.days

    def highest_daily_micros(self, campaign: PilotCampaign) -> Micros:
        """The most that a campaign's daily budget may ever be."""
        return max(campaign.daily_micros, self.raised_daily_micros or 0)

    def day_worst_micros(self, terms: Overdelivery) -> Micros:
        """The most that one day can cost, raised budgets and the platform's overdelivery included."""
        return sum(day_worst_micros(self.highest_daily_micros(campaign), terms) for campaign in self.campaigns)


def pilot_mandate(plan: PilotPlan, terms: Overdelivery) -> Mandate:
    """What people sign: the plan's ceilings, for exactly its campaigns, adverts and model."""
    worst_day = plan.day_worst_micros(terms)
    highest = max(campaign.daily_micros for campaign in plan.campaigns)
    raised = max(plan.highest_daily_micros(campaign) for campaign in plan.campaigns)
    return Mandate(
        name=plan.name,
        account=plan.account,
        currency=plan.currency,
        campaigns=tuple(campaign.name for campaign in plan.campaigns),
        creatives=tuple(dict.fromkeys(creative_hash(campaign.creative) for campaign in plan.campaigns)),
        model_hash=plan.model_hash,
        campaign_daily_micros=raised,
        account_daily_micros=worst_day,
        total_micros=worst_day * plan.days,
        bid_micros=plan.bid_ceiling_micros,
        start_daily_micros=highest,
        raise_percent=plan.raise_percent,
        last_day=plan.last_day,
    )
