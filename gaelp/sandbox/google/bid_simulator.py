"""The bid simulator: what an ad group would have had with other bids, as ad_group_simulation shows it."""

from datetime import timedelta

from gaelp.errors import BadInput
from gaelp.sandbox.google.account_store import AccountStore, is_removed
from gaelp.sandbox.google.campaign_checks import bidding_of
from gaelp.sandbox.google.messages import Message, new, set_enum
from gaelp.sandbox.google.money_checks import BILLABLE_UNIT_MICROS

__all__ = ["fill_points", "simulated_group"]

_FACTORS = (0.25, 0.4, 0.55, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0, 2.75, 4.0)
_SIMULATED_DAYS = 7
_MICROS = 1_000_000


def simulated_group(store: AccountStore, campaign: Message, group: Message) -> Message | None:
    """The simulation of a group with manual bids, without its points; None if the group has none."""
    if bidding_of(campaign) != "manual_cpc" or not group.cpc_bid_micros or is_removed(group) or is_removed(campaign):
        return None
    last = store.now.date() - timedelta(days=1)
    first = last - timedelta(days=_SIMULATED_DAYS - 1)
    key = (group.id, "CPC_BID", "UNIFORM", f"{first:%Y%m%d}", f"{last:%Y%m%d}")
    simulation = new(
        "resources.AdGroupSimulation",
        resource_name=store.resource_name("adGroupSimulations", *key),
        ad_group_id=group.id,
        start_date=first.isoformat(),
        end_date=last.isoformat(),
    )
    set_enum(simulation, "type", "CPC_BID")
    set_enum(simulation, "modification_method", "UNIFORM")
    return simulation


def fill_points(store: AccountStore, campaign: Message, group: Message, simulation: Message) -> bool:
    """Add the points; False if the group had no impressions in those days, so that there is no simulation."""
    bids = sorted(
        {
            max(1, round(group.cpc_bid_micros * factor / BILLABLE_UNIT_MICROS)) * BILLABLE_UNIT_MICROS
            for factor in _FACTORS
        }
    )
    try:
        points = store.call.bid_points(campaign.id, group.id, bids)
    except BadInput:  # the exchange does not serve this group now: no keyword, no advert that passed review, paused
        return False
    for point in points:
        simulation.cpc_bid_point_list.points.add(
            cpc_bid_micros=point.bid_micros,
            impressions=point.impressions,
            clicks=point.clicks,
            cost_micros=point.cost_micros,
            biddable_conversions=point.conversions,
            biddable_conversions_value=point.value_micros / _MICROS,
        )
    return any(point.impressions for point in points)
