"""What begins with each day and hour of a product: rivals' budgets, campaigns' plans, what each offers for a search."""

import math
from typing import NamedTuple

import numpy as np

from gaelp.arrays import Floats, Ints, Uints
from gaelp.market.compiled import compiled_part, inlined
from gaelp.market.random import keyed, normal, scramble, uniform_of
from gaelp.sandbox.auctions.account_calendar import AccountDay
from gaelp.sandbox.auctions.auto_bidding import MANUAL, daypart_factor, learn_hour, move_margin, note_reported, worth_of
from gaelp.sandbox.auctions.exchange_arrays import LATE, UNPLANNED, ProductState
from gaelp.sandbox.auctions.exchange_rules import ExchangeRules
from gaelp.sandbox.auctions.pacing import busyness, note_hour, roll_over, serves_on, set_pace
from gaelp.sandbox.auctions.product import ProductTraits
from gaelp.sandbox.exchange_events import Rows

__all__ = ["HourOffers", "make_offers", "new_offers", "start_day", "start_hour"]

_DAYS = 3  # stream of random numbers
_WORDS = 2.0**64 * (1 - 2.0**-53)  # how many random words there are; a chance of 1 has to fit
_DAYPART_HOURS = 4


class HourOffers(NamedTuple):
    """What each campaign offers for a search in the current hour, and room to rank one auction."""

    group: Ints  # (C, T, 2) index of its best ad group, -1 for none
    bid: Ints  # (C, T, 2) micros
    quality: Floats  # (C, T, 2)
    rivals: Floats  # (R, T) rank of a typical bid today
    presence: Uints  # (R, T) random words below this let a rival enter
    ranks: Floats  # (K + 1,) of the current auction, best first
    who: Ints  # (K + 1,) a rival, or the number of rivals plus the index of a campaign
    entered: Ints  # (C,) campaigns that enter the current auction, one for each account
    click: Rows  # (1,) of LATE


@compiled_part
def new_offers(traits: ProductTraits, state: ProductState) -> HourOffers:
    """Room for the offers of a product's campaigns."""
    campaigns, topics, slots = len(state.campaigns), len(traits.click_rate), len(traits.slots)
    return HourOffers(
        np.empty((campaigns, topics, 2), np.int64),
        np.zeros((campaigns, topics, 2), np.int64),
        np.zeros((campaigns, topics, 2)),
        np.empty(traits.rival_rank.shape),
        np.empty(traits.rival_rank.shape, np.uint64),
        np.empty(slots + 1),
        np.empty(slots + 1, np.int64),
        np.empty(campaigns, np.int64),
        np.empty(1, LATE),
    )


@compiled_part
def start_day(traits: ProductTraits, rules: ExchangeRules, state: ProductState, day: AccountDay) -> None:
    """Draw the day's price shock and number of searches; rivals' budgets begin again."""
    clock = state.clock[0]
    clock.day = day.ordinal
    shock = normal(keyed(traits.key, _DAYS, day.ordinal, 0))
    clock.price_log = rules.price_persistence * clock.price_log + rules.price_log_sd * shock
    clock.size = math.exp(rules.day_log_sd * normal(keyed(traits.key, _DAYS, day.ordinal, 1)))
    if uniform_of(scramble(keyed(traits.key, _DAYS, day.ordinal, 2))) < rules.busy_share:
        clock.size *= rules.busy_factor
    clock.searches_today = 0
    clock.expected_today = 0.0
    state.rival_spent[:] = 0
    state.rival_pace[:] = 1.0


@compiled_part
def start_hour(traits: ProductTraits, rules: ExchangeRules, state: ProductState, day: AccountDay, h: int) -> None:
    """Learn from the hour that ended and plan the one that begins, for rivals and campaigns."""
    clock = state.clock[0]
    clock.hour_tick = day.ticks[h]
    clock.expected_today = 0.0
    today = 0.0
    for k in range(len(day.hours)):
        expected = traits.searches[day.weekday * 24 + day.hours[k]] * (day.ticks[k + 1] - day.ticks[k])
        today += expected
        if k < h:
            clock.expected_today += expected
    note_reported(state, day.ticks[h])
    busy = busyness(clock.searches_today, clock.expected_today)
    ended = (day.hours[h] + 23) % 24 // _DAYPART_HOURS
    for c in range(len(state.campaigns)):
        row = state.campaigns[c]
        roll_over(row, day)
        learn_hour(state, c, rules, ended)
        note_hour(row, rules, clock.searches_hour)
        set_pace(row, rules, day, traits.searches, h, busy)
        if row.strategy != MANUAL:
            move_margin(row, rules, today * busy)
    clock.searches_hour = 0
    for r in range(len(traits.rival_budget)):
        budget, spent = traits.rival_budget[r], state.rival_spent[r]
        allowed = budget * (day.hours[h] + 3) / 24.0
        state.rival_pace[r] = 0.0 if spent > budget else min(1.0, max(0.1, allowed / max(spent, 1)))


@compiled_part
def make_offers(
    traits: ProductTraits, rules: ExchangeRules, state: ProductState, day: AccountDay, h: int, offers: HourOffers
) -> None:
    """Each campaign's best ad group by topic and device, and the rivals' bids of this hour.

    Arrays are taken out of their tuples first, as in the loop over auctions.
    """
    hour, shock = day.hours[h], math.exp(state.clock[0].price_log)
    ranks, presences = traits.rival_rank, traits.rival_presence
    rivals, presence = offers.rivals, offers.presence
    for r in range(ranks.shape[0]):
        present = state.rival_pace[r] * traits.rival_hours[r, hour] * _WORDS
        for t in range(ranks.shape[1]):
            rivals[r, t] = ranks[r, t] * shock
            presence[r, t] = np.uint64(presences[r, t] * present)
    best, bids, qualities, reach, quality = offers.group, offers.bid, offers.quality, state.reach, traits.quality
    best[:] = -1
    for c in range(len(state.campaigns)):
        row = state.campaigns[c]
        roll_over(row, day)
        if row.aim == UNPLANNED:
            busy = busyness(state.clock[0].searches_today, state.clock[0].expected_today)
            set_pace(row, rules, day, traits.searches, h, busy)
        if not serves_on(row, day.ordinal):
            continue
        factor = daypart_factor(state, c, rules, hour // _DAYPART_HOURS) if row.strategy != MANUAL else 1.0
        for g in range(row.groups):
            appeal = math.sqrt(state.groups[c, g].appeal)
            for d in range(2):
                bid = _bid(state, (c, g, d, day.weekday * 24 + hour), factor)
                for t in range(len(quality)):
                    if bid > 0 and reach[c, g, t]:
                        _offer(best, bids, qualities, (c, g, t, d), bid, quality[t] * appeal)


@compiled_part
def _bid(state: ProductState, place: tuple[int, int, int, int], factor: float) -> int:
    """What a group bids on a device in an hour of the week; automated bids heed only factors that exclude a device."""
    c, g, d, hour = place
    by_device = state.device_factor[c, g, d]
    if state.campaigns[c].strategy == MANUAL:
        return int(state.groups[c, g].bid * by_device * state.hour_factor[c, g, hour])
    return worth_of(state, c, g, d, factor) if by_device > 0.0 else 0


@inlined
def _offer(
    best: Ints, bids: Ints, qualities: Floats, place: tuple[int, int, int, int], bid: int, quality: float
) -> None:
    """Keep a group's offer if it is the first or ranks above the one kept."""
    c, g, t, d = place
    if best[c, t, d] < 0 or bid * quality > bids[c, t, d] * qualities[c, t, d]:
        best[c, t, d] = g
        bids[c, t, d] = bid
        qualities[c, t, d] = quality
