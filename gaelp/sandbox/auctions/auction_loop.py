"""One product's auctions, compiled: every search of every tick is an auction among rivals and our campaigns.

All random numbers are counter-based, keyed by (product, tick, index of the search), so that an auction draws the same
whatever happened before it, and the loop may stop after any tick and continue later.
"""

import math

import numpy as np

from gaelp.arrays import Floats, Floats32, Ints, Ints32, Uints
from gaelp.market.compiled import compiled, compiled_part, inlined
from gaelp.market.random import SEARCH_MEAN, advance, keyed, poisson, scramble, uniform, uniform_of
from gaelp.sandbox.auctions.account_calendar import AccountDay
from gaelp.sandbox.auctions.click_billing import bill_click, deliver_late_clicks, exponential_ticks, next_word
from gaelp.sandbox.auctions.exchange_arrays import ProductOutput, ProductState
from gaelp.sandbox.auctions.exchange_rules import ExchangeRules
from gaelp.sandbox.auctions.hour_plan import HourOffers, make_offers, new_offers, start_day, start_hour
from gaelp.sandbox.auctions.product import ProductTraits
from gaelp.sandbox.exchange_events import Rows

__all__ = ["run_day"]

_SEARCHES, _AUCTIONS = 1, 2  # streams of random numbers
_ELIGIBLE, _IMPRESSIONS, _HIDES, _COMPLAINTS = 0, 1, 4, 5  # of MEASURES
_LOW_BITS = np.uint64(1023)
_USER_SALT = np.uint64(0xD6E8FEB86659FD93)
_CAMPAIGN_SALT = np.uint64(0xA0761D6478BD642F)


@compiled
def run_day(
    traits: ProductTraits,
    rules: ExchangeRules,
    state: ProductState,
    day: AccountDay,
    ticks: tuple[int, int],
    out: ProductOutput,
) -> int:
    """Run the ticks of one day from the first up to, not including, the last; returns the first tick that did not run.

    That is the last one, or an earlier one if there is no room in the output or for what is pending.
    """
    offers = new_offers(traits, state)
    if state.clock[0].day != day.ordinal:
        start_day(traits, rules, state, day)
    for h in range(len(day.hours)):
        first, last = max(ticks[0], day.ticks[h]), min(ticks[1], day.ticks[h + 1])
        if first >= last:
            continue
        if state.clock[0].hour_tick != day.ticks[h]:
            start_hour(traits, rules, state, day, h)
        make_offers(traits, rules, state, day, h, offers)
        reached = _run_hour(traits, rules, state, offers, out, (first, last, h, day.hours[h], day.weekday))
        if reached < last:
            return reached
    return ticks[1]


@compiled_part
def _run_hour(
    traits: ProductTraits,
    rules: ExchangeRules,
    state: ProductState,
    offers: HourOffers,
    out: ProductOutput,
    time: tuple[int, int, int, int, int],
) -> int:
    """Run ticks of one hour; `time` is the first and last tick, the index of the hour, its hour of day, the weekday.

    Arrays are taken out of their tuples first: compiled code counts a reference whenever it reads one from a tuple.
    """
    first, last, h, hour, weekday = time
    personas, topics, mobile, slots = traits.personas, traits.topics, traits.mobile, traits.slots
    click_rate, rival_quality, rival_noise = traits.click_rate, traits.rival_quality, traits.rival_noise
    campaigns, groups, views, viewed = state.campaigns, state.groups, state.views, state.viewed
    group, bid, quality, entered = offers.group, offers.bid, offers.quality, offers.entered
    ranks, who, rivals, presence = offers.ranks, offers.who, offers.rivals, offers.presence
    rival_spent, hours, clock = state.rival_spent, out.hours, state.clock[0]
    counts, click_rows, late_rows, due_rows = out.counts, len(out.clicks), len(state.late), len(state.due)
    mean = traits.searches[weekday * 24 + hour] * clock.size
    no_search = math.exp(-mean) if mean < SEARCH_MEAN else 0.0
    for tick in range(first, last):
        word = keyed(traits.key, _SEARCHES, tick, 0)
        # Most ticks of a small product have no search; this is known without computing the exponential again.
        searches = 0 if uniform(word) <= no_search else poisson(mean, word)
        most = searches * len(campaigns) + clock.late  # clicks of this tick
        if counts[0] + most > click_rows or clock.late + most > late_rows or clock.due + most > due_rows:
            return tick
        if clock.late > 0:
            deliver_late_clicks(traits, rules, state, out, (tick, h, hour))
        clock.searches_today += searches
        clock.searches_hour += searches
        for index in range(searches):
            start = keyed(traits.key, _AUCTIONS, tick, index)
            persona = _chosen(personas, weekday * 24 + hour, uniform_of(start))
            word = advance(start)
            user = int(uniform_of(scramble(word)) * len(views))
            word = advance(word)
            topic = _chosen(topics, persona, uniform_of(scramble(word)))
            word = advance(word)
            device = 0 if uniform_of(scramble(word)) < mobile[persona] else 1
            ranked = _rank_rivals(presence, rivals, rival_noise, ranks, who, rules.reserve, topic, word)
            where = uniform_of(scramble(np.uint64(user) ^ (traits.key * _USER_SALT)))
            offer = (topic, device, h)
            kept = _choose_campaigns(campaigns, group, bid, quality, entered, hours, rules.reserve, offer, where, start)
            for n in range(kept):
                rank = bid[entered[n], topic, device] * quality[entered[n], topic, device]
                ranked = _insert(ranks, who, ranked, rank, len(rivals) + entered[n])
            for place in range(min(ranked, len(slots))):
                beaten = ranks[place + 1] if place + 1 < ranked else rules.reserve
                expected = click_rate[topic] * slots[place]
                c = who[place] - len(rivals)
                if c < 0:
                    rival_spent[who[place]] += int(expected * beaten / rival_quality[who[place], topic])
                elif _is_clicked(
                    campaigns, groups, group, views, viewed, hours, rules, (c, tick, user), offer, expected, start
                ):
                    _click(
                        traits, rules, state, offers, out, (tick, h, hour, c), (topic, device, persona), beaten, start
                    )
        counts[3] += searches
    return last


@inlined
def _chosen(cumulative: Floats, row: int, u: float) -> int:
    n = 0
    while n < cumulative.shape[1] - 1 and u > cumulative[row, n]:
        n += 1
    return n


@inlined
def _rank_rivals(
    presence: Uints,
    rivals: Floats,
    noise: Floats,
    ranks: Floats,
    who: Ints,
    reserve: float,
    topic: int,
    word: np.uint64,
) -> int:
    """Rank the rivals who enter, best first; one random word gives presence and bid of each. Returns their number."""
    ranked = 0
    for r in range(len(rivals)):
        word = advance(word)
        bits = scramble(word)
        if bits < presence[r, topic]:
            rank = rivals[r, topic] * noise[bits & _LOW_BITS]
            if rank >= reserve:
                ranked = _insert(ranks, who, ranked, rank, r)
    return ranked


@inlined
def _insert(ranks: Floats, who: Ints, ranked: int, rank: float, entrant: int) -> int:
    """Put one into the ranking, behind its equals; it keeps one more than there are slots. Returns how many it has."""
    most = len(ranks)
    place = min(ranked, most - 1)
    if ranked == most and rank <= ranks[most - 1]:
        return ranked
    while place > 0 and ranks[place - 1] < rank:
        ranks[place] = ranks[place - 1]
        who[place] = who[place - 1]
        place -= 1
    ranks[place] = rank
    who[place] = entrant
    return min(ranked + 1, most)


@inlined
def _choose_campaigns(
    campaigns: Rows,
    group: Ints,
    bid: Ints,
    quality: Floats,
    entered: Ints,
    hours: Ints,
    reserve: float,
    offer: tuple[int, int, int],
    where: float,
    start: np.uint64,
) -> int:
    """Count who could be shown; of each account the campaign with the best rank enters, if its budget allows it.

    `where` is fixed for a user: experiments split users by it. Returns how many campaigns are in `entered`.
    """
    topic, device, h = offer
    kept = 0
    for c in range(len(campaigns)):
        g = group[c, topic, device]
        row = campaigns[c]
        if g < 0 or where < row.users_from or where >= row.users_to:
            continue
        hours[h, c, g, device, _ELIGIBLE] += 1
        rank = bid[c, topic, device] * quality[c, topic, device]
        if row.spent_day >= row.aim or rank < reserve:
            continue
        if row.pace < 1.0 and uniform_of(scramble(start ^ (np.uint64(row.id) * _CAMPAIGN_SALT))) >= row.pace:
            continue
        place = kept
        for n in range(kept):
            if campaigns[entered[n]].account == row.account:
                place = n
        if place == kept:
            entered[kept] = c
            kept += 1
        elif rank > bid[entered[place], topic, device] * quality[entered[place], topic, device]:
            entered[place] = c
    return kept


@inlined
def _is_clicked(
    campaigns: Rows,
    groups: Rows,
    group: Ints,
    views: Floats32,
    viewed: Ints32,
    hours: Ints,
    rules: ExchangeRules,
    shown: tuple[int, int, int],
    offer: tuple[int, int, int],
    expected: float,
    start: np.uint64,
) -> bool:
    """An impression: the user may hide it, complain or click; `expected` is the click rate in this place."""
    c, tick, user = shown
    topic, device, h = offer
    g = group[c, topic, device]
    hours[h, c, g, device, _IMPRESSIONS] += 1
    shown_before = views[user] * math.pow(2.0, rules.forgetting * (tick - viewed[user]))
    views[user] = shown_before + 1.0
    viewed[user] = tick
    word = _impression_word(start, campaigns[c].id)
    mood = uniform_of(scramble(word))
    if mood < rules.hide_rate * (1.0 + shown_before):
        hours[h, c, g, device, _HIDES] += 1
    elif mood > 1.0 - rules.complaint_rate * (1.0 + shown_before):
        hours[h, c, g, device, _COMPLAINTS] += 1
    chance = expected * groups[c, g].appeal / (1.0 + rules.click_loss * shown_before)
    return bool(uniform_of(scramble(advance(word))) < chance)


@inlined
def _impression_word(start: np.uint64, campaign: int) -> np.uint64:
    """The random word of one campaign's impression in an auction: the same whatever campaigns are beside it."""
    return scramble(start ^ (np.uint64(campaign) * _CAMPAIGN_SALT + _USER_SALT))


@compiled_part
def _click(
    traits: ProductTraits,
    rules: ExchangeRules,
    state: ProductState,
    offers: HourOffers,
    out: ProductOutput,
    place: tuple[int, int, int, int],
    search: tuple[int, int, int],
    beaten: float,
    start: np.uint64,
) -> None:
    """A click costs what was needed to keep the rank; some come later, on a page that was left open."""
    tick, h, hour, c = place
    topic, device, persona = search
    g = offers.group[c, topic, device]
    click = offers.click[0]
    click.campaign = state.campaigns[c].id
    click.group = state.groups[c, g].id
    click.device = device
    click.topic = topic
    needed = math.ceil(beaten / offers.quality[c, topic, device]) + rules.price_step
    click.price = min(offers.bid[c, topic, device], needed)
    buys = traits.device_factor[device] * traits.hour_factor[hour] * traits.persona_factor[persona]
    click.chance = min(traits.conversion_rate[topic] * buys, 1.0)
    word = next_word(next_word(_impression_word(start, click.campaign)))
    late = uniform_of(word) < rules.late_share
    word = next_word(word)
    wait = 1 + int(exponential_ticks(word, rules.late_mean))
    click.word = next_word(word)
    click.tick = tick + wait
    if not late:
        bill_click(traits, rules, state, out, (tick, h, hour, c, g), click)
    elif wait <= rules.late_max:
        state.late[state.clock[0].late] = click
        state.clock[0].late += 1
