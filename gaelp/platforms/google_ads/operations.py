"""The operations of a change, as Google's API has them: budgets, campaigns, ad groups with keywords, adverts."""

from collections.abc import Iterable
from datetime import date
from typing import Any

from google.api_core.protobuf_helpers import field_mask

from gaelp.money import Micros
from gaelp.platforms.google_ads.connection import AdsConnection

__all__ = ["LIBRARY_GROUP", "MARK", "Operations"]

MARK = "gaelp"  # the label of every campaign that GAELP created, and the beginning of its budget's name
LIBRARY_GROUP = "gaelp adverts"  # a paused ad group that holds the published adverts for ad groups to come
_BUDGET_ID, _CAMPAIGN_ID = -1, -2  # temporary ids; ad groups count down from the third
_FIRST_GROUP_ID = -10


class Operations:
    """Builds operations for one connection; temporary ids tie those of one request together."""

    def __init__(self, connection: AdsConnection) -> None:
        self._connection = connection
        self._enums = connection.client.enums
        self._next_group = _FIRST_GROUP_ID

    def create_campaign(self, campaign: str, daily_micros: Micros, through: date, mark: str) -> list[Any]:
        """A paused campaign with a budget of its own and the mark that it is GAELP's."""
        budget_name = self._connection.name_of("campaignBudgets", _BUDGET_ID)
        campaign_name = self._connection.name_of("campaigns", _CAMPAIGN_ID)
        first, second, third = (self._operation() for _ in range(3))
        budget = first.campaign_budget_operation.create
        budget.resource_name, budget.name = budget_name, f"{MARK} {campaign}"
        budget.amount_micros, budget.explicitly_shared = daily_micros, False
        budget.delivery_method = self._enums.BudgetDeliveryMethodEnum.STANDARD
        created = second.campaign_operation.create
        created.resource_name, created.name, created.campaign_budget = campaign_name, campaign, budget_name
        created.status = self._enums.CampaignStatusEnum.PAUSED
        created.advertising_channel_type = self._enums.AdvertisingChannelTypeEnum.SEARCH
        created.manual_cpc.enhanced_cpc_enabled = False
        created.network_settings.target_google_search = True
        created.end_date_time = _end_of(through)
        political = self._enums.EuPoliticalAdvertisingStatusEnum
        created.contains_eu_political_advertising = political.DOES_NOT_CONTAIN_EU_POLITICAL_ADVERTISING
        link = third.campaign_label_operation.create
        link.campaign, link.label = campaign_name, mark
        return [first, second, third]

    def set_amount(self, budget: str, daily_micros: Micros) -> Any:
        """Another amount for a budget."""
        operation = self._operation()
        update = operation.campaign_budget_operation.update
        update.resource_name, update.amount_micros = budget, daily_micros
        return self._masked(operation, "campaign_budget_operation")

    def set_end(self, campaign: str, through: date) -> Any:
        """Another last day for a campaign."""
        operation = self._operation()
        update = operation.campaign_operation.update
        update.resource_name, update.end_date_time = campaign, _end_of(through)
        return self._masked(operation, "campaign_operation")

    def set_status(self, campaign: str, status: str) -> Any:
        """ENABLED or PAUSED."""
        operation = self._operation()
        update = operation.campaign_operation.update
        update.resource_name, update.status = campaign, self._enums.CampaignStatusEnum[status]
        return self._masked(operation, "campaign_operation")

    def set_bid(self, ad_group: str, micros: Micros) -> Any:
        """Another bid for an ad group."""
        operation = self._operation()
        update = operation.ad_group_operation.update
        update.resource_name, update.cpc_bid_micros = ad_group, micros
        return self._masked(operation, "ad_group_operation")

    def create_group(self, campaign: str, target: str, micros: Micros) -> tuple[str, list[Any]]:
        """An ad group for a target, whose name lists its keywords separated by |; its resource name, and operations."""
        name, operation = self._new_group(campaign, target)
        group = operation.ad_group_operation.create
        group.cpc_bid_micros, group.status = micros, self._enums.AdGroupStatusEnum.ENABLED
        return name, [operation, *(self._keyword(name, text) for text in _keywords(target))]

    def create_library(self, campaign: str) -> tuple[str, list[Any]]:
        """The ad group that holds published adverts and never serves."""
        name, operation = self._new_group(campaign, LIBRARY_GROUP)
        operation.ad_group_operation.create.status = self._enums.AdGroupStatusEnum.PAUSED
        return name, [operation]

    def create_ad(self, ad_group: str, ad: Any) -> Any:
        """An advert in an ad group."""
        operation = self._operation()
        created = operation.ad_group_ad_operation.create
        created.ad_group, created.status = ad_group, self._enums.AdGroupAdStatusEnum.ENABLED
        created.ad.final_urls.extend(ad.final_urls)
        created.ad.url_custom_parameters.extend(ad.url_custom_parameters)
        created.ad.responsive_search_ad = ad.responsive_search_ad
        return operation

    def create_label(self, name: str) -> Any:
        """A label without a colour."""
        operation = self._operation()
        operation.label_operation.create.name = name
        return operation

    def _new_group(self, campaign: str, name: str) -> tuple[str, Any]:
        resource_name = self._connection.name_of("adGroups", self._next_group)
        self._next_group -= 1
        operation = self._operation()
        group = operation.ad_group_operation.create
        group.resource_name, group.name, group.campaign = resource_name, name, campaign
        group.type_ = self._enums.AdGroupTypeEnum.SEARCH_STANDARD
        return resource_name, operation

    def _keyword(self, ad_group: str, text: str) -> Any:
        operation = self._operation()
        criterion = operation.ad_group_criterion_operation.create
        criterion.ad_group, criterion.status = ad_group, self._enums.AdGroupCriterionStatusEnum.ENABLED
        criterion.keyword.text, criterion.keyword.match_type = text, self._enums.KeywordMatchTypeEnum.PHRASE
        return operation

    def _operation(self) -> Any:
        return self._connection.message("MutateOperation")

    def _masked(self, operation: Any, kind: str) -> Any:
        """Say which fields an update changes."""
        change = getattr(operation, kind)
        self._connection.client.copy_from(change.update_mask, field_mask(None, type(change.update).pb(change.update)))
        return operation


def _keywords(target: str) -> Iterable[str]:
    return dict.fromkeys(text.strip() for text in target.split("|") if text.strip())


def _end_of(day: date) -> str:
    return f"{day.isoformat()} 23:59:59"
