"""The kinds of objects of the Marketing API: which parameters create and change them, and which fields they have."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gaelp.sandbox.meta import parameter_readers as read
from gaelp.sandbox.meta.parameter_readers import Reader

__all__ = [
    "ACTIVITY",
    "AD",
    "AD_SET",
    "CAMPAIGN",
    "CREATIVE",
    "LABEL",
    "NODE_TYPES",
    "REPORT_RUN",
    "STATUSES",
    "TIMES",
    "WHOLE_MONEY",
    "NodeType",
    "type_of_edge",
]

STATUSES = ("ACTIVE", "PAUSED", "DELETED", "ARCHIVED")
TIMES = frozenset({"created_time", "updated_time", "start_time", "stop_time", "end_time", "event_time"})
WHOLE_MONEY = frozenset({"daily_budget", "lifetime_budget", "budget_remaining"})  # minor units, printed as text

_BID_STRATEGIES = ("LOWEST_COST_WITHOUT_CAP", "LOWEST_COST_WITH_BID_CAP", "COST_CAP", "LOWEST_COST_WITH_MIN_ROAS")
_OBJECTIVES = tuple(
    f"OUTCOME_{name}" for name in ("TRAFFIC", "SALES", "LEADS", "ENGAGEMENT", "AWARENESS", "APP_PROMOTION")
)
_GOALS = (
    "LINK_CLICKS", "OFFSITE_CONVERSIONS", "VALUE", "LANDING_PAGE_VIEWS", "IMPRESSIONS", "REACH", "POST_ENGAGEMENT",
    "THRUPLAY", "LEAD_GENERATION", "APP_INSTALLS", "CONVERSATIONS", "QUALITY_LEAD", "PAGE_LIKES", "EVENT_RESPONSES",
    "AD_RECALL_LIFT", "NONE",
)  # fmt: skip
_SPECIAL = (
    "NONE", "CREDIT", "EMPLOYMENT", "HOUSING", "FINANCIAL_PRODUCTS_SERVICES", "ISSUES_ELECTIONS_POLITICS",
    "ONLINE_GAMBLING_AND_GAMING",
)  # fmt: skip
_OWN = frozenset({"id", "account_id", "created_time", "updated_time"})
_STATES = frozenset({"configured_status", "effective_status"})


@dataclass(frozen=True, slots=True, eq=False)
class NodeType:
    """A kind of object; `parents` maps a field such as `campaign` to the field with that object's id."""

    name: str  # as in Meta's messages
    kind: str  # of the stored resource
    edge: str  # of the account, which lists and creates them
    parameters: Mapping[str, Reader]
    fixed: frozenset[str] = frozenset()  # parameters that only creation accepts
    required: tuple[str, ...] = ()
    computed: frozenset[str] = _OWN
    parents: Mapping[str, str] = field(default_factory=dict)

    @property
    def fields(self) -> frozenset[str]:
        """All that can be read."""
        return frozenset({*self.parameters, *self.computed, *self.parents} - {"adset_bid_amounts"})


CAMPAIGN = NodeType(
    name="Campaign",
    kind="meta/campaign",
    edge="campaigns",
    parameters={
        "name": read.text,
        "objective": read.choice(*_OBJECTIVES),
        "status": read.choice(*STATUSES),
        "buying_type": read.choice("AUCTION", "RESERVED", sandbox=("AUCTION",)),
        "special_ad_categories": read.listed(*_SPECIAL),
        "bid_strategy": read.choice(*_BID_STRATEGIES),
        "daily_budget": read.positive,
        "lifetime_budget": read.positive,
        "start_time": read.instant,
        "stop_time": read.instant,
        "adlabels": read.objects,
        "adset_bid_amounts": read.mapping,
    },
    fixed=frozenset({"objective", "buying_type"}),
    required=("name", "objective", "special_ad_categories"),
    computed=_OWN | _STATES | {"budget_remaining"},
)
AD_SET = NodeType(
    name="AdSet",
    kind="meta/adset",
    edge="adsets",
    parameters={
        "name": read.text,
        "campaign_id": read.positive,
        "status": read.choice(*STATUSES),
        "bid_amount": read.positive,
        "bid_strategy": read.choice(*_BID_STRATEGIES),
        "bid_constraints": read.mapping,
        "billing_event": read.choice("IMPRESSIONS", "LINK_CLICKS", "CLICKS", "THRUPLAY", "PAGE_LIKES", "APP_INSTALLS"),
        "optimization_goal": read.choice(*_GOALS),
        "promoted_object": read.mapping,
        "destination_type": read.text,
        "daily_budget": read.positive,
        "lifetime_budget": read.positive,
        "start_time": read.instant,
        "end_time": read.instant,
        "targeting": read.mapping,
        "adlabels": read.objects,
    },
    fixed=frozenset({"campaign_id", "billing_event", "destination_type"}),
    required=("name", "campaign_id", "billing_event", "optimization_goal", "targeting"),
    computed=_OWN | _STATES | {"budget_remaining"},
    parents={"campaign": "campaign_id"},
)
CREATIVE = NodeType(
    name="AdCreative",
    kind="meta/adcreative",
    edge="adcreatives",
    parameters={
        "name": read.text,
        "object_story_spec": read.mapping,
        "title": read.text,
        "body": read.text,
        "link_url": read.web_address,
        "object_url": read.web_address,
        "image_hash": read.text,
        "image_url": read.web_address,
        "url_tags": read.text,
        "call_to_action_type": read.text,
        "status": read.choice("ACTIVE", "IN_PROCESS", "WITH_ISSUES", "DELETED"),
        "adlabels": read.objects,
    },
    fixed=frozenset({
        "object_story_spec", "title", "body", "link_url", "object_url", "image_hash", "image_url", "url_tags",
        "call_to_action_type",
    }),
    computed=_OWN,
)  # fmt: skip
AD = NodeType(
    name="Ad",
    kind="meta/ad",
    edge="ads",
    parameters={
        "name": read.text,
        "adset_id": read.positive,
        "creative": read.mapping,
        "status": read.choice(*STATUSES),
        "tracking_specs": read.objects,
        "adlabels": read.objects,
    },
    fixed=frozenset({"adset_id"}),
    required=("name", "adset_id", "creative"),
    computed=_OWN | _STATES | {"campaign_id", "ad_review_feedback"},
    parents={"adset": "adset_id", "campaign": "campaign_id"},
)
LABEL = NodeType(
    name="AdLabel", kind="meta/adlabel", edge="adlabels", parameters={"name": read.text}, required=("name",)
)
REPORT_RUN = NodeType(
    name="AdReportRun",
    kind="meta/report",
    edge="insights",
    parameters={},
    computed=_OWN | {"async_status", "async_percent_completion", "is_running", "date_start", "date_stop"},
)
ACTIVITY = NodeType(
    name="AdActivity",
    kind="meta/activity",
    edge="activities",
    parameters={},
    computed=frozenset({
        "event_time", "event_type", "object_id", "object_name", "object_type", "application_id", "application_name",
        "actor_name", "extra_data",
    }),
)  # fmt: skip

NODE_TYPES = (CAMPAIGN, AD_SET, AD, CREATIVE, LABEL, REPORT_RUN, ACTIVITY)
_BY_EDGE = {node_type.edge: node_type for node_type in NODE_TYPES if node_type not in (REPORT_RUN, ACTIVITY)}


def type_of_edge(edge: str) -> NodeType | None:
    """What an edge such as `campaigns` lists; None if there is no such edge."""
    return _BY_EDGE.get(edge)
