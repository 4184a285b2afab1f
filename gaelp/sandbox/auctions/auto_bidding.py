"""Automated bidding: target CPA, target ROAS and maximise conversions, from the platform's own data, hour by hour.

The worth of a click is learned for each ad group, device and daypart: conversions over clicks, shrunk towards the
campaign's mean, where clicks whose conversions are still to come count for less. The bid is that worth times a margin,
which moves slowly: down where the budget would not last the day, up to where the goal is just met.
"""

import math

import numpy as np

from gaelp.arrays import Floats
from gaelp.market.compiled import compiled_part, inlined
from gaelp.sandbox.auctions.exchange_arrays import DAYPARTS, ProductState
from gaelp.sandbox.auctions.exchange_rules import ExchangeRules
from gaelp.sandbox.exchange_events import ExchangeRecord

__all__ = [
    "MANUAL",
    "MAXIMIZE_CONVERSIONS",
    "TARGET_CPA",
    "TARGET_ROAS",
    "daypart_factor",
    "learn_hour",
    "move_margin",
    "note_reported",
    "worth_of",
]

MANUAL, TARGET_CPA, TARGET_ROAS, MAXIMIZE_CONVERSIONS = range(4)
CLICKS, FAST, SLOW, CONVERSIONS, VALUE = range(5)  # columns of the evidence
_ROUNDS = 4  # of alternating between groups and devices
_LOWEST, _HIGHEST = 0.02, 20.0  # margin
_SPEND_AIM = 1.05  # of the budget at full pace: better slowed a little than left over
_VALUE_STRENGTH = 5.0  # conversions at which an ad group's own value of a sale counts half


@compiled_part
def note_reported(state: ProductState, tick: int) -> None:
    """Move the conversions reported by now from what is due to the evidence."""
    kept = 0
    for n in range(state.clock[0].due):
        due = state.due[n]
        if due.tick > tick:
            state.due[kept] = due
            kept += 1
            continue
        for c in range(len(state.campaigns)):
            if state.campaigns[c].id != due.campaign:
                continue
            state.dayparts[c, due.daypart, CONVERSIONS] += 1.0
            for g in range(state.campaigns[c].groups):
                if state.groups[c, g].id == due.group:
                    state.evidence[c, g, due.device, CONVERSIONS] += 1.0
                    state.evidence[c, g, due.device, VALUE] += due.value
    state.clock[0].due = kept


@inlined
def _age(cells: Floats, place: tuple[int, ...], rules: ExchangeRules, clicks: float) -> None:
    """One hour passes over an evidence cell, with these new clicks."""
    cells[(*place, CLICKS)] = cells[(*place, CLICKS)] * rules.evidence_memory + clicks
    cells[(*place, FAST)] = cells[(*place, FAST)] * rules.fast_ripening + clicks
    cells[(*place, SLOW)] = cells[(*place, SLOW)] * rules.slow_ripening + clicks
    for column in range(CONVERSIONS, cells.shape[-1]):
        cells[(*place, column)] *= rules.evidence_memory


@inlined
def _ripe(cell: Floats, rules: ExchangeRules) -> float:
    """Clicks, less the share whose conversions are still to come."""
    waiting = rules.fast_share * cell[FAST] + (1.0 - rules.fast_share) * cell[SLOW]
    return float(max(cell[CLICKS] - waiting, 0.0))


@compiled_part
def learn_hour(state: ProductState, c: int, rules: ExchangeRules, daypart: int) -> None:
    """Take in the clicks of the hour that ended, in this daypart, and set the worth of a click by group and device."""
    row = state.campaigns[c]
    factor = daypart_factor(state, c, rules, daypart)
    evidence, hour_clicks, rates = state.evidence, state.hour_clicks, state.rates
    total = 0.0
    for g in range(row.groups):
        for d in range(2):
            clicks = float(hour_clicks[c, g, d])
            _age(evidence, (c, g, d), rules, clicks)
            total += clicks
            hour_clicks[c, g, d] = 0
            row.recent_worth += clicks * rates[c, g, d] * factor
    for part in range(DAYPARTS):
        _age(state.dayparts, (c, part), rules, total if part == daypart else 0.0)
    row.recent_worth *= rules.rate_memory
    row.recent_cost = (row.recent_cost + row.spent_hour) * rules.rate_memory
    if row.strategy != MANUAL:
        _set_rates(state, c, rules)


@compiled_part
def daypart_factor(state: ProductState, c: int, rules: ExchangeRules, daypart: int) -> float:
    """How much better a daypart converts than the campaign's mean, shrunk towards 1."""
    clicks, conversions = 0.0, 0.0
    for part in range(DAYPARTS):
        clicks += _ripe(state.dayparts[c, part], rules)
        conversions += state.dayparts[c, part, CONVERSIONS]
    own = state.dayparts[c, daypart]
    expected = _ripe(own, rules) * conversions / max(clicks, 1.0)
    return float((own[CONVERSIONS] + rules.shared_strength) / (expected + rules.shared_strength))


@compiled_part
def _set_rates(state: ProductState, c: int, rules: ExchangeRules) -> None:
    """Conversion rate by group x by device x value at the goal, in micros of a click's worth."""
    row = state.campaigns[c]
    groups = row.groups
    ripe, conversions = np.empty((groups, 2)), state.evidence[c, :groups, :, CONVERSIONS]
    for g in range(groups):
        for d in range(2):
            ripe[g, d] = _ripe(state.evidence[c, g, d], rules)
    prior = rules.prior_conversions
    base = (conversions.sum() + prior) / (ripe.sum() + prior / rules.prior_rate)
    by_group, by_device = np.ones(groups), np.ones(2)
    for _ in range(_ROUNDS):
        for g in range(groups):
            expected = base * (ripe[g] * by_device).sum()
            by_group[g] = (conversions[g].sum() + rules.group_strength) / (expected + rules.group_strength)
        for d in range(2):
            expected = base * (ripe[:, d] * by_group).sum()
            by_device[d] = (conversions[:, d].sum() + rules.shared_strength) / (expected + rules.shared_strength)
    for g in range(groups):
        for d in range(2):
            state.rates[c, g, d] = base * by_group[g] * by_device[d] * _sale_at_goal(state, c, g, rules)


@compiled_part
def _sale_at_goal(state: ProductState, c: int, g: int, rules: ExchangeRules) -> float:
    """What a conversion of a group may cost, in micros."""
    row = state.campaigns[c]
    bid = state.groups[c, g].bid if state.groups[c, g].bid > 0 else rules.first_bid
    if row.strategy == TARGET_CPA:
        return float(row.goal)
    if row.strategy == MAXIMIZE_CONVERSIONS:
        return rules.first_bid / rules.prior_rate
    # Until there are sales, the manual bid is taken to be right at the usual conversion rate.
    count, value = 1.0, bid * row.goal / rules.prior_rate
    for other in range(row.groups):
        count += state.evidence[c, other, :, CONVERSIONS].sum()
        value += state.evidence[c, other, :, VALUE].sum()
    own = state.evidence[c, g, :, VALUE].sum() + _VALUE_STRENGTH * value / count
    own_count = state.evidence[c, g, :, CONVERSIONS].sum() + _VALUE_STRENGTH
    return float(own / own_count / row.goal)


@compiled_part
def move_margin(row: ExchangeRecord, rules: ExchangeRules, day_searches: float) -> None:
    """Move the margin by what the budget allows and by what the goal allows, whichever is less.

    `day_searches` is how many searches today should have in all.
    """
    room = math.inf
    cost_per_search = row.rate_cost / max(row.rate_searches, 1.0)
    if cost_per_search > 0.0:
        room = math.log(max(_SPEND_AIM * row.aim / (cost_per_search * day_searches), 1e-6))
    # With hardly a click lately there is nothing to hold against the goal: bids rise until there are some.
    if row.strategy != MAXIMIZE_CONVERSIONS and row.recent_cost > rules.first_bid:
        room = min(room, math.log(max(row.recent_worth / row.recent_cost, 1e-6)))
    step = min(max(0.1 * room, -rules.margin_step), rules.margin_step)
    row.margin = min(max(row.margin * math.exp(step), _LOWEST), _HIGHEST)


@compiled_part
def worth_of(state: ProductState, c: int, g: int, d: int, factor: float) -> int:
    """The bid of a group on a device, in micros, in a daypart of this factor."""
    return int(state.campaigns[c].margin * state.rates[c, g, d] * factor)
