"""The resources of the Google front as one table: service, resource name, required and fixed fields, name rules."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from gaelp.sandbox.google.messages import Descriptor, Message, load_service, message_class, new

__all__ = ["KINDS", "KINDS_BY_COLLECTION", "ResourceKind"]


@dataclass(frozen=True, slots=True)
class ResourceKind:
    """What the mutate engine and GAQL need to know of one kind of resource.

    `owner` is the field whose id begins a resource name of two parts (`adGroupAds/12~34`); the second part is a new
    id, the stable id of a criterion, or the id of the resource that `linked` refers to.
    """

    name: str  # in GAQL, such as campaign_budget
    collection: str  # in resource names, such as campaignBudgets
    method: str  # of its service, such as MutateCampaignBudgets
    references: Mapping[str, str] = field(default_factory=dict)  # field -> kind; each must exist and not be removed
    owner: str = ""
    id_field: str = "id"
    second: Literal["new", "criterion", "linked"] = "new"
    linked: str = ""
    required: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()  # cannot change after creation
    computed: tuple[str, ...] = ()  # given by the platform: ignored in a create, refused in an update
    defaults: Mapping[str, str] = field(default_factory=dict)  # enum values of a new resource
    unique_in: Literal["account", "owner", "nothing"] = "nothing"  # where a name may exist once
    owner_of_name: str = ""  # the field whose resource a name is unique in
    duplicate: tuple[str, str] = ("mutate_error", "RESOURCE_ALREADY_EXISTS")
    removal: Literal["status", "delete"] = "status"
    removed_error: tuple[str, str] = ("operation_access_denied_error", "OPERATION_NOT_PERMITTED_FOR_REMOVED_RESOURCE")
    operations: tuple[str, ...] = ("create", "update", "remove")

    @property
    def type_name(self) -> str:
        """Of its message, such as CampaignBudget."""
        return "".join(part.capitalize() for part in self.name.split("_"))

    @property
    def service(self) -> str:
        """Such as CampaignBudgetService."""
        return f"{self.type_name}Service"

    @property
    def module(self) -> str:
        """Of its service in Google's package, such as campaign_budget_service."""
        return f"{self.name}_service"

    @property
    def stored_as(self) -> str:
        """Its name in the sandbox's own store."""
        return f"google/{self.name}"

    @property
    def descriptor(self) -> Descriptor:
        """The fields of its message."""
        return message_class(f"resources.{self.type_name}").DESCRIPTOR

    def empty(self) -> Message:
        """A message without content."""
        return new(f"resources.{self.type_name}")


_KINDS = (
    ResourceKind(
        name="campaign_budget",
        collection="campaignBudgets",
        method="MutateCampaignBudgets",
        computed=("id", "status", "reference_count", "type_"),
        fixed=("period",),
        defaults={"delivery_method": "STANDARD", "period": "DAILY", "status": "ENABLED", "type": "STANDARD"},
        unique_in="account",
        duplicate=("campaign_budget_error", "DUPLICATE_NAME"),
        removed_error=("campaign_budget_error", "CAMPAIGN_BUDGET_REMOVED"),
    ),
    ResourceKind(
        name="campaign",
        collection="campaigns",
        method="MutateCampaigns",
        references={"campaign_budget": "campaign_budget", "bidding_strategy": "bidding_strategy"},
        required=("name", "campaign_budget", "advertising_channel_type", "contains_eu_political_advertising"),
        computed=(
            "id",
            "primary_status",
            "primary_status_reasons",
            "serving_status",
            "bidding_strategy_type",
            "experiment_type",
            "base_campaign",
            "labels",
            "optimization_score",
        ),
        fixed=("advertising_channel_type",),
        defaults={"status": "ENABLED", "experiment_type": "BASE", "ad_serving_optimization_status": "OPTIMIZE"},
        unique_in="account",
        duplicate=("campaign_error", "DUPLICATE_CAMPAIGN_NAME"),
    ),
    ResourceKind(
        name="ad_group",
        collection="adGroups",
        method="MutateAdGroups",
        references={"campaign": "campaign"},
        required=("name", "campaign"),
        computed=(
            "id",
            "base_ad_group",
            "effective_cpc_bid_micros",
            "labels",
            "primary_status",
            "primary_status_reasons",
        ),
        fixed=("campaign", "type_"),
        defaults={"status": "ENABLED", "type": "SEARCH_STANDARD"},
        unique_in="owner",
        owner_of_name="campaign",
        duplicate=("ad_group_error", "DUPLICATE_ADGROUP_NAME"),
    ),
    ResourceKind(
        name="ad_group_ad",
        collection="adGroupAds",
        method="MutateAdGroupAds",
        references={"ad_group": "ad_group"},
        owner="ad_group",
        id_field="ad.id",
        required=("ad_group", "ad"),
        computed=(
            "policy_summary",
            "ad_strength",
            "labels",
            "primary_status",
            "primary_status_reasons",
            "action_items",
        ),
        fixed=("ad_group",),
        defaults={"status": "ENABLED"},
        removed_error=("ad_group_ad_error", "CANNOT_OPERATE_ON_REMOVED_ADGROUPAD"),
    ),
    ResourceKind(
        name="ad_group_criterion",
        collection="adGroupCriteria",
        method="MutateAdGroupCriteria",
        references={"ad_group": "ad_group"},
        owner="ad_group",
        id_field="criterion_id",
        second="criterion",
        required=("ad_group",),
        computed=(
            "criterion_id",
            "type_",
            "display_name",
            "quality_info",
            "system_serving_status",
            "approval_status",
            "effective_cpc_bid_micros",
            "effective_cpc_bid_source",
            "labels",
            "primary_status",
            "primary_status_reasons",
        ),
        fixed=("ad_group", "negative", "keyword"),
        defaults={"status": "ENABLED"},
    ),
    ResourceKind(
        name="campaign_criterion",
        collection="campaignCriteria",
        method="MutateCampaignCriteria",
        references={"campaign": "campaign"},
        owner="campaign",
        id_field="criterion_id",
        second="criterion",
        required=("campaign",),
        computed=("criterion_id", "type_", "display_name"),
        fixed=("campaign", "negative", "keyword", "location", "language", "device", "ad_schedule"),
        defaults={"status": "ENABLED"},
    ),
    ResourceKind(
        name="ad_group_bid_modifier",
        collection="adGroupBidModifiers",
        method="MutateAdGroupBidModifiers",
        references={"ad_group": "ad_group"},
        owner="ad_group",
        id_field="criterion_id",
        second="criterion",
        required=("ad_group", "bid_modifier"),
        computed=("criterion_id", "base_ad_group", "bid_modifier_source"),
        fixed=("ad_group", "device"),
        defaults={"bid_modifier_source": "AD_GROUP"},
        removal="delete",
        duplicate=("criterion_error", "BID_MODIFIER_ALREADY_EXISTS"),
    ),
    ResourceKind(
        name="label",
        collection="labels",
        method="MutateLabels",
        required=("name",),
        computed=("id", "status"),
        defaults={"status": "ENABLED"},
        unique_in="account",
        duplicate=("label_error", "DUPLICATE_NAME"),
        removal="delete",
    ),
    ResourceKind(
        name="campaign_label",
        collection="campaignLabels",
        method="MutateCampaignLabels",
        references={"campaign": "campaign", "label": "label"},
        owner="campaign",
        id_field="",
        second="linked",
        linked="label",
        required=("campaign", "label"),
        removal="delete",
        duplicate=("campaign_error", "CAMPAIGN_LABEL_ALREADY_EXISTS"),
        operations=("create", "remove"),
    ),
    ResourceKind(
        name="ad_group_label",
        collection="adGroupLabels",
        method="MutateAdGroupLabels",
        references={"ad_group": "ad_group", "label": "label"},
        owner="ad_group",
        id_field="",
        second="linked",
        linked="label",
        required=("ad_group", "label"),
        removal="delete",
        duplicate=("ad_group_error", "ADGROUP_LABEL_ALREADY_EXISTS"),
        operations=("create", "remove"),
    ),
    ResourceKind(
        name="bidding_strategy",
        collection="biddingStrategies",
        method="MutateBiddingStrategies",
        required=("name",),
        computed=("id", "status", "type_", "campaign_count", "non_removed_campaign_count", "effective_currency_code"),
        defaults={"status": "ENABLED"},
        unique_in="account",
        duplicate=("bidding_strategy_error", "DUPLICATE_NAME"),
    ),
    ResourceKind(
        name="experiment",
        collection="experiments",
        method="MutateExperiments",
        id_field="experiment_id",
        required=("name", "type_"),
        computed=("experiment_id", "long_running_operation", "promote_status"),
        fixed=("type_",),
        defaults={"status": "SETUP"},
        unique_in="account",
        duplicate=("experiment_error", "DUPLICATE_EXPERIMENT_NAME"),
        removed_error=("experiment_error", "CANNOT_MODIFY_REMOVED_EXPERIMENT"),
    ),
    ResourceKind(
        name="experiment_arm",
        collection="experimentArms",
        method="MutateExperimentArms",
        references={"experiment": "experiment"},
        owner="experiment",
        id_field="",
        required=("experiment", "name", "traffic_split"),
        computed=("in_design_campaigns",),
        fixed=("experiment", "control"),
        removal="delete",
    ),
)

KINDS: Mapping[str, ResourceKind] = MappingProxyType({kind.name: kind for kind in _KINDS})
KINDS_BY_COLLECTION: Mapping[str, ResourceKind] = MappingProxyType({kind.collection: kind for kind in _KINDS})

for _kind in _KINDS:
    load_service(_kind.module)
