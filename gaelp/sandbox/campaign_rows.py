"""Write a served campaign into a product's arrays, or move it with all it has spent and learned to another product."""

from datetime import date

import numpy as np

from gaelp.sandbox.auctions.auto_bidding import MANUAL, MAXIMIZE_CONVERSIONS, TARGET_CPA, TARGET_ROAS
from gaelp.sandbox.auctions.exchange_arrays import NO_LIMIT, UNPLANNED, ProductState, with_room
from gaelp.sandbox.auctions.product import stable_number
from gaelp.sandbox.exchange_events import Rows
from gaelp.sandbox.serving import BiddingStrategy, ManualBids, MaximizeConversions, ServedCampaign, TargetCpa

__all__ = ["move_campaign", "place_campaign", "row_of"]

_BY_CAMPAIGN = (
    "campaigns",
    "groups",
    "reach",
    "device_factor",
    "hour_factor",
    "evidence",
    "dayparts",
    "hour_clicks",
    "rates",
)


def row_of(state: ProductState, campaign: int) -> int | None:
    """The index of a campaign."""
    rows = np.flatnonzero(state.campaigns["id"] == campaign)
    return int(rows[0]) if len(rows) else None


def place_campaign(state: ProductState, campaign: ServedCampaign) -> ProductState:
    """The state in which a campaign serves like this; an ad group it no longer has is kept, without reach."""
    c = row_of(state, campaign.id)
    if c is None:
        c = len(state.campaigns)
        state = with_room(state, campaigns=c + 1, groups=len(campaign.groups), late=0, due=0)
        state.campaigns[c]["id"] = campaign.id
        state.campaigns[c]["pace"] = state.campaigns[c]["margin"] = 1.0
    known = [int(group) for group in state.groups[c, : state.campaigns[c]["groups"]]["id"]]
    known += [group.id for group in campaign.groups if group.id not in known]
    state = with_room(state, campaigns=0, groups=len(known), late=0, due=0)
    state.campaigns[c]["groups"] = len(known)
    _write_terms(state, c, campaign)
    state.reach[c] = False
    for group in campaign.groups:
        g = known.index(group.id)
        state.groups[c, g] = (group.id, group.bid_micros, group.appeal)
        state.reach[c, g, list(group.topics)] = True
        state.device_factor[c, g] = group.device_factors
        state.hour_factor[c, g] = group.hour_factors or 1.0
    return state


def _write_terms(state: ProductState, c: int, campaign: ServedCampaign) -> None:
    row, strategy = state.campaigns[c], _strategy(campaign.strategy)
    row["account"] = stable_number(campaign.account)
    row["enabled"] = campaign.enabled
    row["daily"] = NO_LIMIT if campaign.daily_micros is None else campaign.daily_micros
    row["total"] = NO_LIMIT if campaign.total_micros is None else campaign.total_micros
    row["first_day"] = (campaign.first_day or date.min).toordinal()
    row["last_day"] = (campaign.last_day or date.max).toordinal()
    row["day_percent"] = campaign.overdelivery.day_percent
    row["monthly"] = campaign.overdelivery.period == "month"
    row["period_percent"] = campaign.overdelivery.period_percent
    # A budget that is lowered still counts for the day and the period in which it held.
    row["day_budget"] = max(row["day_budget"], row["daily"])
    row["period_budget"] = max(row["period_budget"], row["daily"])
    if strategy != (row["strategy"], row["goal"]):
        row["margin"], row["recent_cost"], row["recent_worth"] = 1.0, 0.0, 0.0
    row["strategy"], row["goal"] = strategy
    row["aim"] = UNPLANNED
    row["users_from"], row["users_to"] = campaign.users_from, campaign.users_to


def _strategy(strategy: BiddingStrategy) -> tuple[int, float]:
    if isinstance(strategy, ManualBids):
        return MANUAL, 0.0
    if isinstance(strategy, MaximizeConversions):
        return MAXIMIZE_CONVERSIONS, 0.0
    if isinstance(strategy, TargetCpa):
        return TARGET_CPA, float(strategy.micros)
    return TARGET_ROAS, strategy.ratio


def move_campaign(source: ProductState, target: ProductState, campaign: int) -> tuple[ProductState, ProductState]:
    """Both states after a campaign has gone from one product to the other, with its pending clicks and conversions."""
    c = row_of(source, campaign)
    if c is None:
        return source, target
    n = len(target.campaigns)
    clock, late, due = target.clock[0], _pending(source, "late", campaign), _pending(source, "due", campaign)
    target = with_room(
        target,
        campaigns=n + 1,
        groups=source.groups.shape[1],
        late=int(clock["late"]) + len(late),
        due=int(clock["due"]) + len(due),
    )
    for name in _BY_CAMPAIGN:
        row = getattr(source, name)[c : c + 1]
        getattr(target, name)[(slice(n, n + 1), *(slice(size) for size in row.shape[1:]))] = row
    for name, rows in (("late", late), ("due", due)):
        used = int(target.clock[0][name])
        getattr(target, name)[used : used + len(rows)] = rows
        target.clock[0][name] += len(rows)
    return _without(source, c, campaign), target


def _pending(state: ProductState, name: str, campaign: int) -> Rows:
    rows: Rows = getattr(state, name)[: state.clock[0][name]]
    return np.asarray(rows[rows["campaign"] == campaign].copy())


def _without(state: ProductState, c: int, campaign: int) -> ProductState:
    for name in ("late", "due"):
        rows = getattr(state, name)[: state.clock[0][name]]
        kept = rows[rows["campaign"] != campaign].copy()
        getattr(state, name)[: len(kept)] = kept
        state.clock[0][name] = len(kept)
    return state._replace(**{name: np.delete(getattr(state, name), c, 0) for name in _BY_CAMPAIGN})
