"""The effective status of campaigns, ad sets and ads: their own, their parents', and the review of ads."""

from datetime import datetime

from gaelp.sandbox.meta.account_objects import AccountObjects, Node
from gaelp.sandbox.meta.node_types import AD, AD_SET

__all__ = ["effective_status", "is_reviewed"]

_GONE = ("DELETED", "ARCHIVED")


def is_reviewed(ad: Node, now: datetime) -> bool:
    """Whether the review of an ad is over; a new creative is reviewed again."""
    return now >= datetime.fromisoformat(ad.body["review_ends"])


def effective_status(objects: AccountObjects, node: Node) -> str:
    """What the object does, in Meta's words; the highest obstacle is named."""
    if node.type is AD and node.status not in _GONE:
        return _of_ad(objects, node)
    if node.type is AD_SET and node.status not in _GONE:
        return _below(objects.campaign_of(node), node, "CAMPAIGN_PAUSED")
    return node.status


def _of_ad(objects: AccountObjects, ad: Node) -> str:
    ad_set = objects.find(int(ad.body["adset_id"]), AD_SET)
    campaign = objects.campaign_of(ad)
    for parent in (campaign, ad_set):
        if parent is not None and parent.status in _GONE:
            return parent.status
    if ad.body.get("disapproved"):
        return "DISAPPROVED"
    if not is_reviewed(ad, objects.now):
        return "PENDING_REVIEW"
    if ad.status == "PAUSED":
        return "PAUSED"
    if campaign.status == "PAUSED":
        return "CAMPAIGN_PAUSED"
    return "ADSET_PAUSED" if ad_set is not None and ad_set.status == "PAUSED" else "ACTIVE"


def _below(parent: Node, node: Node, paused: str) -> str:
    if parent.status in _GONE:
        return parent.status
    if node.status == "PAUSED":
        return "PAUSED"
    return paused if parent.status == "PAUSED" else node.status
