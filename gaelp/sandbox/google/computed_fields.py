"""Fields that the platform computes when a resource is read: statuses, effective bids, labels, counts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from gaelp.sandbox.google.account_store import AccountStore, is_removed
from gaelp.sandbox.google.ad_review import AdReviews
from gaelp.sandbox.google.campaign_checks import bidding_of, local_time
from gaelp.sandbox.google.messages import Message, copy_of, enum_name, set_enum

__all__ = ["ReadableResources", "is_computed"]


@dataclass(frozen=True, slots=True)
class ReadableResources:
    """Resources of one account as a reader sees them; what is stored is not changed."""

    store: AccountStore
    reviews: AdReviews
    is_suspended: bool

    def show(self, kind_name: str, stored: Message) -> Message:
        """A copy with all fields that the platform computes."""
        message = copy_of(stored)
        fill = _FILLERS.get(kind_name)
        if fill is not None:
            fill(self, message)
        return message

    def _labels(self, link: str, field: str, message: Message) -> None:
        links = self.store.children(link, field, message.resource_name)
        message.labels.extend(attached.label for attached in links)

    def _campaign(self, message: Message) -> None:
        bidding = bidding_of(message)
        if bidding == "bidding_strategy":
            bidding = self.store.existing(message.bidding_strategy).WhichOneof("scheme")
        set_enum(message, "bidding_strategy_type", bidding.upper())
        self._labels("campaign_label", "campaign", message)
        serving = self._serving_status(message)
        set_enum(message, "serving_status", serving)
        status = enum_name(message, "status")
        by_serving = {"ENDED": "ENDED", "PENDING": "PENDING", "SUSPENDED": "NOT_ELIGIBLE"}
        set_enum(message, "primary_status", by_serving.get(serving, "ELIGIBLE") if status == "ENABLED" else status)

    def _serving_status(self, message: Message) -> str:
        now = self.store.now.replace(tzinfo=None)
        start, end = local_time(message.start_date_time), local_time(message.end_date_time)
        if self.is_suspended:
            return "SUSPENDED"
        if enum_name(message, "status") != "ENABLED" or enum_name(message, "experiment_type") == "DRAFT":
            return "NONE"
        if start is not None and now < start:
            return "PENDING"
        return "ENDED" if end is not None and now > end else "SERVING"

    def _ad_group(self, message: Message) -> None:
        message.effective_cpc_bid_micros = message.cpc_bid_micros
        if not message.base_ad_group:
            message.base_ad_group = message.resource_name
        self._labels("ad_group_label", "ad_group", message)
        status = enum_name(message, "status")
        set_enum(message, "primary_status", "ELIGIBLE" if status == "ENABLED" else status)

    def _ad_group_ad(self, message: Message) -> None:
        self.reviews.show(message)
        status = enum_name(message, "status")
        approved = enum_name(message.policy_summary, "review_status") == "REVIEWED"
        set_enum(message, "primary_status", ("ELIGIBLE" if approved else "PENDING") if status == "ENABLED" else status)

    def _ad_group_criterion(self, message: Message) -> None:
        group = self.store.existing(message.ad_group)
        own = message.HasField("cpc_bid_micros")
        message.effective_cpc_bid_micros = message.cpc_bid_micros if own else group.cpc_bid_micros
        set_enum(message, "effective_cpc_bid_source", "AD_GROUP_CRITERION" if own else "AD_GROUP")
        set_enum(message, "approval_status", "APPROVED")
        set_enum(message, "system_serving_status", "ELIGIBLE")
        message.display_name = message.keyword.text

    def _campaign_budget(self, message: Message) -> None:
        message.reference_count = len(self.store.children("campaign", "campaign_budget", message.resource_name))

    def _bidding_strategy(self, message: Message) -> None:
        set_enum(message, "type", message.WhichOneof("scheme").upper())
        users = [
            campaign for campaign in self.store.all("campaign") if campaign.bidding_strategy == message.resource_name
        ]
        message.campaign_count = len(users)
        message.non_removed_campaign_count = sum(not is_removed(campaign) for campaign in users)


# What the fillers set, by kind: fields that are stored nowhere.
_FILLED: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "campaign": frozenset({"bidding_strategy_type", "labels", "serving_status", "primary_status"}),
        "ad_group": frozenset({"effective_cpc_bid_micros", "base_ad_group", "labels", "primary_status"}),
        "ad_group_ad": frozenset({"policy_summary", "primary_status"}),
        "ad_group_criterion": frozenset(
            {
                "effective_cpc_bid_micros",
                "effective_cpc_bid_source",
                "approval_status",
                "system_serving_status",
                "display_name",
            }
        ),
        "campaign_budget": frozenset({"reference_count"}),
        "bidding_strategy": frozenset({"type_", "campaign_count", "non_removed_campaign_count"}),
    }
)


def is_computed(kind_name: str, field: str) -> bool:
    """Whether a field, by its name in Python's messages, exists only in what `show` returns."""
    return field in _FILLED.get(kind_name, ())


_FILLERS: Mapping[str, Callable[[ReadableResources, Message], None]] = MappingProxyType(
    {
        "campaign": ReadableResources._campaign,
        "ad_group": ReadableResources._ad_group,
        "ad_group_ad": ReadableResources._ad_group_ad,
        "ad_group_criterion": ReadableResources._ad_group_criterion,
        "campaign_budget": ReadableResources._campaign_budget,
        "bidding_strategy": ReadableResources._bidding_strategy,
    }
)
