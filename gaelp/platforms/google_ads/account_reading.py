"""Read the account: which campaigns are GAELP's, their budgets, bids and adverts, and the experiments on them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from typing import Any, cast
from zoneinfo import ZoneInfo

from gaelp.errors import BadInput, GaelpError
from gaelp.money import Micros
from gaelp.platforms.google_ads.connection import AdsConnection
from gaelp.platforms.google_ads.gaql import query, quoted
from gaelp.platforms.google_ads.operations import LIBRARY_GROUP, MARK
from gaelp.platforms.google_ads.search_ads import hash_of_ad
from gaelp.platforms.platform import CampaignState

__all__ = [
    "MARK_QUERY",
    "AdGroupRow",
    "CampaignRow",
    "CustomerRow",
    "as_state",
    "read_ad_groups",
    "read_campaigns",
    "read_customer",
    "read_named_campaigns",
]

MARK_QUERY = query("label", "label.resource_name", where=[f"label.name = {quoted(MARK)}"])
_NO_END = date(2037, 12, 30)  # what Google writes for a campaign without an end
_CAMPAIGNS = query(
    "campaign",
    "campaign.id",
    "campaign.resource_name",
    "campaign.name",
    "campaign.status",
    "campaign.end_date_time",
    "campaign.labels",
    "campaign.experiment_type",
    "campaign.base_campaign",
    "campaign.campaign_budget",
    "campaign_budget.name",
    "campaign_budget.amount_micros",
    "campaign_budget.explicitly_shared",
)
_GROUP_FIELDS = ("campaign.id", "ad_group.resource_name", "ad_group.name", "ad_group.cpc_bid_micros")
_AD_FIELDS = (
    "campaign.id",
    "ad_group_ad.ad_group",
    "ad_group_ad.ad.final_urls",
    "ad_group_ad.ad.url_custom_parameters",
    "ad_group_ad.ad.responsive_search_ad.headlines",
    "ad_group_ad.ad.responsive_search_ad.descriptions",
)


@dataclass(frozen=True, slots=True)
class CustomerRow:
    """The account itself."""

    zone: ZoneInfo
    is_test: bool


@dataclass(frozen=True, slots=True)
class AdGroupRow:
    """An ad group with its adverts."""

    name: str
    resource_name: str
    bid_micros: Micros
    ads: list[Any] = field(default_factory=list)

    @property
    def is_library(self) -> bool:
        """Whether it only holds adverts."""
        return self.name == LIBRARY_GROUP


@dataclass(frozen=True, slots=True)
class CampaignRow:
    """A campaign of GAELP, or the treatment of an experiment on one, whose `base` is that campaign's resource name."""

    id: int
    name: str
    resource_name: str
    status: str
    through: date
    budget: str
    daily_micros: Micros
    budget_is_shared: bool
    base: str

    @property
    def is_removed(self) -> bool:
        """Whether it is gone for good; its costs remain."""
        return self.status == "REMOVED"


def read_customer(connection: AdsConnection) -> CustomerRow:
    """Time zone and kind of the account; raises without an answer."""
    rows = connection.search(query("customer", "customer.time_zone", "customer.test_account"))
    if len(rows) != 1 or not rows[0].customer.time_zone:
        raise GaelpError(f"Google Ads says nothing about the customer {connection.customer_id}: check its id")
    return CustomerRow(ZoneInfo(rows[0].customer.time_zone), rows[0].customer.test_account is True)


def read_campaigns(connection: AdsConnection) -> list[CampaignRow]:
    """Every campaign that GAELP created, removed ones too, and the treatments of experiments on them.

    They have the label, or a budget with the name that GAELP gives: whoever changes one of the two does not hide it.
    """
    marks = {row.label.resource_name for row in connection.search(MARK_QUERY)}
    rows = connection.search(_CAMPAIGNS)
    ours = {row.campaign.resource_name: row for row in rows if _is_ours(row, marks)}
    treatments = (row for row in rows if row.campaign.experiment_type.name == "EXPERIMENT")
    return [
        _campaign(row)
        for row in (*ours.values(), *(each for each in treatments if each.campaign.base_campaign in ours))
    ]


def read_named_campaigns(connection: AdsConnection, names: Iterable[str]) -> list[CampaignRow]:
    """The campaigns of the account with these names, whoever created them; BadInput names one that there is not."""
    wanted = set(names)
    rows = [_campaign(row) for row in connection.search(_CAMPAIGNS) if row.campaign.name in wanted]
    present = [row for row in rows if not row.is_removed and not row.base]
    if missing := sorted(wanted - {row.name for row in present}):
        raise BadInput(
            f"the account {connection.customer_id} has no campaign {missing[0]!r}"
            f"{f' and {len(missing) - 1} more of those asked for' if len(missing) > 1 else ''}: check the names"
        )
    return present


def _is_ours(row: Any, marks: set[str]) -> bool:
    is_marked = bool(marks & set(row.campaign.labels)) or row.campaign_budget.name.startswith(f"{MARK} ")
    return is_marked and row.campaign.experiment_type.name not in ("DRAFT", "EXPERIMENT")


def _campaign(row: Any) -> CampaignRow:
    campaign = row.campaign
    end = campaign.end_date_time
    return CampaignRow(
        id=campaign.id,
        name=campaign.name,
        resource_name=campaign.resource_name,
        status=campaign.status.name,
        through=date.fromisoformat(end[:10]) if end else _NO_END,
        budget=campaign.campaign_budget,
        daily_micros=row.campaign_budget.amount_micros,
        budget_is_shared=row.campaign_budget.explicitly_shared,
        base=campaign.base_campaign if campaign.experiment_type.name == "EXPERIMENT" else "",
    )


def read_ad_groups(connection: AdsConnection, campaigns: Iterable[CampaignRow]) -> dict[int, list[AdGroupRow]]:
    """The ad groups of these campaigns with their adverts, by the campaign's id, ordered by name."""
    ids = {campaign.id for campaign in campaigns}
    if not ids:
        return {}
    within = f"campaign.id IN ({', '.join(map(str, sorted(ids)))})"
    groups: dict[int, list[AdGroupRow]] = {campaign_id: [] for campaign_id in ids}
    by_name: dict[str, AdGroupRow] = {}
    for row in connection.search_plain(
        query("ad_group", *_GROUP_FIELDS, where=[within, "ad_group.status != 'REMOVED'"])
    ):
        group = AdGroupRow(row.ad_group.name, row.ad_group.resource_name, row.ad_group.cpc_bid_micros)
        groups[row.campaign.id].append(group)
        by_name[group.resource_name] = group
    for row in connection.search_plain(
        query("ad_group_ad", *_AD_FIELDS, where=[within, "ad_group_ad.status != 'REMOVED'"])
    ):
        if row.ad_group_ad.ad_group in by_name:
            by_name[row.ad_group_ad.ad_group].ads.append(row.ad_group_ad.ad)
    return {campaign_id: sorted(each, key=lambda group: group.name) for campaign_id, each in groups.items()}


def as_state(campaign: CampaignRow, groups: list[AdGroupRow]) -> CampaignState:
    """A campaign as GAELP's protocol has it."""
    hashes = dict.fromkeys(digest for group in groups for ad in group.ads if (digest := hash_of_ad(ad)))
    status = {"ENABLED": "enabled", "PAUSED": "paused"}.get(campaign.status, campaign.status)
    return CampaignState(
        campaign=campaign.name,
        status=cast("Any", status),  # any other status counts as running
        daily_micros=campaign.daily_micros,
        through=campaign.through,
        creatives=tuple(sorted(hashes)),
        bids=tuple((group.name, group.bid_micros) for group in groups if not group.is_library),
    )
