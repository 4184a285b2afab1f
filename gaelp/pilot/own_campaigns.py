"""The advertiser's own campaigns on the local ad platform, set up and paused through its API as an advertiser would.

Shadow days need campaigns that run without GAELP. On a real account the advertiser has them; here this module is that
person. Nothing of it carries GAELP's label, so the connector does not count the campaigns as its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gaelp.content import Creative
from gaelp.errors import GaelpError
from gaelp.money import Micros
from gaelp.platforms.google_ads.account_reading import read_named_campaigns
from gaelp.platforms.google_ads.connection import AdsConnection
from gaelp.platforms.google_ads.gaql import query
from gaelp.platforms.google_ads.operations import Operations
from gaelp.platforms.google_ads.search_ads import fill_search_ad

__all__ = ["OwnCampaign", "pause_own_campaigns", "provide_own_campaigns"]

_BUDGET_ID, _CAMPAIGN_ID = -1, -2


@dataclass(frozen=True, slots=True)
class OwnCampaign:
    """A campaign with manual bids, one ad group for each target."""

    name: str
    daily_micros: Micros
    targets: tuple[str, ...]
    bids_micros: tuple[Micros, ...]
    creative: Creative


def provide_own_campaigns(connection: AdsConnection, campaigns: Sequence[OwnCampaign]) -> None:
    """Create the campaigns that the account lacks, and let all of them run; again after an interruption is harmless."""
    there = {row.campaign.name for row in connection.search(query("campaign", "campaign.name", "campaign.status"))}
    for campaign in campaigns:
        if campaign.name not in there:
            connection.mutate(_creation(connection, campaign))
    _set_status(connection, campaigns, "ENABLED")


def pause_own_campaigns(connection: AdsConnection, campaigns: Sequence[OwnCampaign]) -> None:
    """Pause the campaigns, and read back that they are."""
    _set_status(connection, campaigns, "PAUSED")


def _set_status(connection: AdsConnection, campaigns: Sequence[OwnCampaign], status: str) -> None:
    names = [campaign.name for campaign in campaigns]
    operations = Operations(connection)
    rows = read_named_campaigns(connection, names)
    changes = [operations.set_status(row.resource_name, status) for row in rows if row.status != status]
    if changes:
        connection.mutate(changes)
    for row in read_named_campaigns(connection, names):
        if row.status != status:
            raise GaelpError(f"the campaign {row.name} is {row.status} after it was set to {status}: try again")


def _creation(connection: AdsConnection, campaign: OwnCampaign) -> list[Any]:
    """A paused campaign with its budget, ad groups, keywords and adverts, in one request."""
    operations = Operations(connection)
    name, made = _campaign_operations(connection, campaign)
    ad = connection.message("Ad")
    fill_search_ad(connection, ad, campaign.creative)
    del ad.url_custom_parameters[:]  # the mark of adverts that GAELP published
    for target, micros in zip(campaign.targets, campaign.bids_micros, strict=True):
        group, parts = operations.create_group(name, target, micros)
        made += [*parts, operations.create_ad(group, ad)]
    return made


def _campaign_operations(connection: AdsConnection, campaign: OwnCampaign) -> tuple[str, list[Any]]:
    enums = connection.client.enums
    first, second = (connection.message("MutateOperation") for _ in range(2))
    budget, created = first.campaign_budget_operation.create, second.campaign_operation.create
    budget.resource_name, budget.name = connection.name_of("campaignBudgets", _BUDGET_ID), f"{campaign.name} budget"
    budget.amount_micros, budget.explicitly_shared = campaign.daily_micros, False
    budget.delivery_method = enums.BudgetDeliveryMethodEnum.STANDARD
    created.resource_name, created.name = connection.name_of("campaigns", _CAMPAIGN_ID), campaign.name
    created.campaign_budget, created.status = budget.resource_name, enums.CampaignStatusEnum.PAUSED
    created.advertising_channel_type = enums.AdvertisingChannelTypeEnum.SEARCH
    created.manual_cpc.enhanced_cpc_enabled = False
    created.network_settings.target_google_search = True
    political = enums.EuPoliticalAdvertisingStatusEnum
    created.contains_eu_political_advertising = political.DOES_NOT_CONTAIN_EU_POLITICAL_ADVERTISING
    return created.resource_name, [first, second]
