"""What is true of a synthesized history: the same products and bids again, with other random numbers, many times.

Nothing here is known to an advertiser. A mean over replays is the forecast of somebody who knows the world and not its
chance; the share won without a budget is the true win rate.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gaelp.arrays import Floats, Ints
from gaelp.sandbox.auctions.exchange_arrays import new_state
from gaelp.sandbox.auctions.exchange_rules import exchange_rules
from gaelp.sandbox.exchange import Exchange
from gaelp.sandbox.exchange_events import ExchangeEvents
from gaelp.sandbox.product_market import ProductMarket
from gaelp.sandbox.serving import ServedCampaign
from gaelp.sandbox.synthesis import SynthesizedHistory

__all__ = ["DayMeans", "true_day_means", "true_win_rates"]

_WARM_DAYS = 4  # before the days that count: fatigue has a half-life of two days
_DAY_TICKS = 1440


@dataclass(frozen=True, slots=True)
class DayMeans:
    """Means over replays by segment and day, shape (S, D) each; segments in the order of campaigns and groups."""

    clicks: Floats
    spend_micros: Floats
    conversions: Floats


def true_day_means(history: SynthesizedHistory, days: range, replays: int) -> DayMeans:
    """Clicks, spend and all conversions of these days with the bids and budgets of the history."""
    sums = np.zeros((3, _segments(history), len(days)))
    first, last = (int(history.hour_ticks[0]) + _DAY_TICKS * day for day in (days.start, days.stop))
    warm = max(first - _WARM_DAYS * _DAY_TICKS, int(history.hour_ticks[0]))
    hours = np.flatnonzero((history.hour_ticks >= warm) & (history.hour_ticks < last))
    for number, campaign in enumerate(history.campaigns):
        bids = [campaign.with_actions(history.actions[hour, number]) for hour in hours]
        changes = list(zip(history.hour_ticks[hours].tolist(), bids, strict=True))
        place = {group.id: number * len(campaign.segments) + g for g, group in enumerate(campaign.served.groups)}
        for events in _replays(history, number, changes, last, replays):
            for rows, tick, weights, into in (
                (events.hours, "hour_tick", "clicks", 0),
                (events.hours, "hour_tick", "cost_micros", 1),
                (events.conversions, "click_tick", None, 2),
            ):
                kept = rows[rows[tick] >= first]
                segment = np.array([place[int(group)] for group in kept["group"]], np.int64)
                day = (kept[tick] - first) // _DAY_TICKS
                np.add.at(sums[into], (segment, day), 1.0 if weights is None else kept[weights])
    return DayMeans(*(sums / replays))


def true_win_rates(history: SynthesizedHistory, factors: Sequence[float], *, days: int, replays: int) -> Floats:
    """Share of possible impressions that each multiple of the usual bids wins without a budget, shape (S, factors)."""
    start = int(history.hour_ticks[0])
    shares = np.zeros((_segments(history), len(factors)))
    for number, campaign in enumerate(history.campaigns):
        groups = len(campaign.segments)
        for n, factor in enumerate(factors):
            served = replace(campaign.with_actions(np.full(groups, np.log(factor))), daily_micros=None)
            won, possible = np.zeros(groups), np.zeros(groups)
            place = {group.id: g for g, group in enumerate(campaign.served.groups)}
            for events in _replays(history, number, [(start, served)], start + days * _DAY_TICKS, replays):
                group = np.array([place[int(each)] for each in events.hours["group"]], np.int64)
                won += np.bincount(group, events.hours["impressions"], groups)
                possible += np.bincount(group, events.hours["eligible"], groups)
            shares[number * groups : (number + 1) * groups, n] = won / np.maximum(possible, 1)
    return shares


def _segments(history: SynthesizedHistory) -> int:
    return sum(len(campaign.segments) for campaign in history.campaigns)


def _replays(
    history: SynthesizedHistory, number: int, changes: list[tuple[int, ServedCampaign]], last: int, replays: int
) -> Iterator[ExchangeEvents]:
    """The campaign alone on its product, under other random numbers each time."""
    exchange = Exchange(history.world)
    rules = exchange_rules(history.world)
    product = history.campaigns[number].served.product
    traits = exchange.traits(product)
    keys: Ints = np.random.default_rng([history.world.seed, number, 977]).integers(2**63, size=replays)
    for key in keys:
        again = traits._replace(key=np.uint64(key))
        market = ProductMarket(product, again, new_state(again, history.world.users.per_product))
        ends = [*(tick for tick, _ in changes[1:]), last]
        for (tick, campaign), end in zip(changes, ends, strict=True):
            market.place(campaign, tick)
            parts, _ = market.run(rules, exchange.calendar, (tick, end))
            yield from parts
