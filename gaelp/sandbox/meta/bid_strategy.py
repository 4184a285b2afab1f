"""Bid strategies and optimisation goals: which combinations the exchange can serve, and as what."""

from collections.abc import Mapping
from typing import Any

from gaelp.sandbox.meta.account_objects import Node
from gaelp.sandbox.meta.graph_error import GraphError, unsupported
from gaelp.sandbox.serving import BiddingStrategy, ManualBids, MaximizeConversions, TargetCpa, TargetRoas

__all__ = ["DEFAULT_STRATEGY", "check_bid", "exchange_strategy", "strategy_of"]

DEFAULT_STRATEGY = "LOWEST_COST_WITHOUT_CAP"
_CENT_MICROS = 10_000
_FLOOR = "roas_average_floor"
_FLOOR_UNIT = 10_000  # of a ROAS of 1
# Goal of the optimisation by strategy; the exchange bills clicks, so a bid is a price per click or a target.
_SERVED = {
    "LOWEST_COST_WITH_BID_CAP": "LINK_CLICKS",
    "LOWEST_COST_WITHOUT_CAP": "OFFSITE_CONVERSIONS",
    "COST_CAP": "OFFSITE_CONVERSIONS",
    "LOWEST_COST_WITH_MIN_ROAS": "VALUE",
}
_COMBINATIONS = ", ".join(f"{strategy} with {goal}" for strategy, goal in _SERVED.items())


def strategy_of(campaign: Node, ad_set: Mapping[str, Any]) -> str:
    """The strategy of an ad set: the campaign's if that has the budget."""
    own = campaign.body if _has_budget(campaign) else ad_set
    return str(own.get("bid_strategy", DEFAULT_STRATEGY))


def check_bid(campaign: Node, ad_set: Mapping[str, Any]) -> None:
    """Refuse an ad set whose bid does not fit its strategy, or whose combination the exchange cannot serve."""
    strategy, goal = strategy_of(campaign, ad_set), ad_set["optimization_goal"]
    if _SERVED[strategy] != goal:
        raise unsupported(f"bid_strategy={strategy} with optimization_goal={goal}", _COMBINATIONS)
    needs_bid = strategy in ("LOWEST_COST_WITH_BID_CAP", "COST_CAP")
    if needs_bid and "bid_amount" not in ad_set:
        raise GraphError(
            f"bid_amount is missing: bid_strategy={strategy} needs one, in minor units of the currency",
            subcode=1815857,
            title="Bid amount required",
            blame="bid_amount",
        )
    if not needs_bid and "bid_amount" in ad_set:
        raise GraphError(f"bid_amount has no meaning with bid_strategy={strategy}; leave it out", blame="bid_amount")
    floor = ad_set.get("bid_constraints", {}).get(_FLOOR)
    if strategy == "LOWEST_COST_WITH_MIN_ROAS" and (type(floor) is not int or floor < 1):
        raise GraphError(
            f"bid_constraints.{_FLOOR} is {floor!r}; give the least ROAS times {_FLOOR_UNIT}, such as 20000 for 2.0",
            blame="bid_constraints",
        )
    if "bid_constraints" in ad_set and strategy != "LOWEST_COST_WITH_MIN_ROAS":
        raise GraphError(f"bid_constraints has no meaning with bid_strategy={strategy}; leave it out")


def exchange_strategy(campaign: Node, ad_sets: list[Node]) -> BiddingStrategy:
    """The strategy of ad sets that share a budget; of different targets the strictest counts for all of them."""
    if not ad_sets:
        return ManualBids()
    match strategy_of(campaign, ad_sets[0].body):
        case "COST_CAP":
            return TargetCpa(min(ad_set.body["bid_amount"] for ad_set in ad_sets) * _CENT_MICROS)
        case "LOWEST_COST_WITH_MIN_ROAS":
            return TargetRoas(max(ad_set.body["bid_constraints"][_FLOOR] for ad_set in ad_sets) / _FLOOR_UNIT)
        case "LOWEST_COST_WITHOUT_CAP":
            return MaximizeConversions()
    return ManualBids()


def _has_budget(campaign: Node) -> bool:
    return bool(campaign.body.keys() & {"daily_budget", "lifetime_budget"})
