"""What Meta checks when an object is created or changed: budgets, times, bids, parents, links and labels."""

from collections.abc import Mapping
from typing import Any

from gaelp.sandbox.meta.account_objects import AccountObjects, Node
from gaelp.sandbox.meta.bid_strategy import check_bid
from gaelp.sandbox.meta.delivery import product_of_ads
from gaelp.sandbox.meta.graph_error import GraphError, unsupported
from gaelp.sandbox.meta.landing_page import check_creative, landing_page, product_at
from gaelp.sandbox.meta.node_types import AD, AD_SET, CAMPAIGN, CREATIVE, LABEL
from gaelp.sandbox.meta.targeting import check_targeting

__all__ = ["check_object"]

_LEAST_DAILY_CENTS = 100
_BUDGETS = ("daily_budget", "lifetime_budget")
_MAX_LABELS = 50  # on one object


def check_object(objects: AccountObjects, node: Node, before: Mapping[str, Any] | None) -> None:
    """Refuse an object that breaks a rule; `before` is its body before the change, None if it is new."""
    if before is not None and before.get("status") == "DELETED":
        raise GraphError(f"{node.type.name} {node.id} is deleted and cannot be changed; create another", blame="id")
    if len(node.body.get("adlabels", ())) > _MAX_LABELS:
        raise GraphError(
            f"adlabels has {len(node.body['adlabels'])} labels; an object has at most {_MAX_LABELS}", blame="adlabels"
        )
    match node.type:
        case _ if node.type is CAMPAIGN:
            _check_campaign(objects, node, before)
        case _ if node.type is AD_SET:
            _check_ad_set(objects, node, before)
        case _ if node.type is CREATIVE:
            check_creative(node.body)
        case _ if node.type is AD:
            _check_ad(objects, node)
        case _ if node.type is LABEL:
            _check_label(objects, node)


def _check_campaign(objects: AccountObjects, campaign: Node, before: Mapping[str, Any] | None) -> None:
    body = campaign.body
    _check_budget(body, end="stop_time")
    _check_times(objects, body, "stop_time", before)
    if "bid_strategy" in body and not _has_budget(body):
        raise GraphError("bid_strategy belongs to the ad sets if the campaign has no budget", blame="bid_strategy")
    if before is None:
        return
    ad_sets = [ad_set for ad_set in objects.ad_sets_of(campaign) if ad_set.is_living]
    if ad_sets and _has_budget(body) != _has_budget(before):
        raise unsupported("moving the budget between a campaign and its ad sets", "a new campaign")
    if body.get("bid_strategy") != before.get("bid_strategy"):
        for ad_set in ad_sets:
            check_bid(campaign, ad_set.body)


def _check_ad_set(objects: AccountObjects, ad_set: Node, before: Mapping[str, Any] | None) -> None:
    body = ad_set.body
    campaign = objects.require(int(body["campaign_id"]), CAMPAIGN, "campaign_id")
    if _has_budget(campaign.body) and (_has_budget(body) or "bid_strategy" in body):
        raise GraphError(
            f"campaign {campaign.id} has the budget and the bid strategy; leave both out of the ad set",
            subcode=1885621,
            title="Budget is set on the campaign",
            blame="daily_budget",
        )
    if not _has_budget(campaign.body) and not _has_budget(body):
        raise GraphError("daily_budget or lifetime_budget is missing: neither the campaign nor the ad set has one")
    _check_budget(body, end="end_time")
    _check_times(objects, body, "end_time", before)
    check_targeting(body["targeting"])
    check_bid(campaign, body)


def _check_ad(objects: AccountObjects, ad: Node) -> None:
    ad_set = objects.require(int(ad.body["adset_id"]), AD_SET, "adset_id")
    creative = objects.require(int(ad.body["creative"]["id"]), CREATIVE, "creative")
    campaign = objects.campaign_of(ad_set)
    others = [other for other in objects.ads_of(campaign) if other.id != ad.id and other.is_living]
    product, own = product_of_ads(objects, others), product_at(landing_page(creative.body))
    if product not in (None, own):
        raise unsupported(f"a second landing page ({own}) in campaign {campaign.id}, whose ads lead to {product},", own)


def _check_label(objects: AccountObjects, label: Node) -> None:
    other = objects.call.named(objects.account.id, LABEL.kind, str(label.body["name"]))
    if other is not None and other.id != label.id:
        raise GraphError(f"there is a label {label.body['name']!r} already: {other.id}; use it", blame="name")


def _check_budget(body: Mapping[str, Any], *, end: str) -> None:
    if all(name in body for name in _BUDGETS):
        raise GraphError("daily_budget and lifetime_budget are both set; give one of them", blame="daily_budget")
    for name in _BUDGETS:
        if body.get(name, _LEAST_DAILY_CENTS) < _LEAST_DAILY_CENTS:
            raise GraphError(
                f"{name}={body[name]} is below the minimum of {_LEAST_DAILY_CENTS} minor units; raise it",
                subcode=1885272,
                title="Your budget is too low",
                blame=name,
            )
    if "lifetime_budget" in body and end not in body:
        raise GraphError(f"lifetime_budget needs {end}: the day the money is spread up to", blame=end)


def _check_times(objects: AccountObjects, body: Mapping[str, Any], end: str, before: Mapping[str, Any] | None) -> None:
    if end not in body:
        return
    start = body.get("start_time", "")
    if start and body[end] <= start:
        raise GraphError(f"{end}={body[end]} is not after start_time={start}; move one of them", blame=end)
    is_new = before is None or before.get(end) != body[end]
    if is_new and body[end] <= objects.now.isoformat():
        raise GraphError(f"{end}={body[end]} is in the past; it is {objects.now.isoformat()}", blame=end)


def _has_budget(body: Mapping[str, Any]) -> bool:
    return any(name in body for name in _BUDGETS)
