"""One hour of N campaigns in compiled loops: auctions, budget, clicks, delayed conversions, fatigue, prices."""

from gaelp.arrays import Ints, Ints32
from gaelp.market.auction import hold_auctions
from gaelp.market.compiled import compiled
from gaelp.market.price_tracking import SHORTEST_PRESENCE, hour_change_log, track_segment
from gaelp.market.response import answer, remember
from gaelp.market.state import MarketState, MarketTables
from gaelp.market.world import DAY_HOURS, World

__all__ = ["run_hour"]

_SOME = 512  # campaigns whose state fits the processor's second cache


@compiled
def run_hour(hour: int, world: World, tables: MarketTables, state: MarketState, bid_micros: Ints) -> None:
    """Advance every campaign by one hour, in place; one compiled call, because handing over the arrays takes time.

    Some campaigns after the others, so that what they hold stays in the processor's cache from one part to the next.
    """
    campaigns = len(world.key)
    for first in range(0, campaigns, _SOME):
        some = (first, min(first + _SOME, campaigns))
        state.opportunities[some[0] : some[1]] = world.volume[hour, some[0] : some[1]]
        hold_auctions(hour, some, world, tables, state, bid_micros)
        answer(hour, some, world, tables, state)
        remember(hour, some, world, tables, state)
        if state.creative_clicks.shape[2] > 1:
            _count_creatives(some, state)
        _track_prices(hour, some, world.start_hour_of_week, tables, state)
    if (hour + 1) % DAY_HOURS == 0:
        for n in range(campaigns):
            state.day_left_micros[n] = min(world.daily_cap_micros[n], state.left_micros[n])


@compiled
def _count_creatives(some: tuple[int, int], state: MarketState) -> None:
    creative, impressions, clicks = state.creative, state.impressions, state.clicks
    total_impressions, total_clicks = state.creative_impressions, state.creative_clicks
    segments = creative.shape[1]
    for n in range(some[0], some[1]):
        for s in range(segments):
            if impressions[n, s] > 0:
                total_impressions[n, s, creative[n, s]] += impressions[n, s]
                total_clicks[n, s, creative[n, s]] += clicks[n, s]


@compiled
def _track_prices(hour: int, some: tuple[int, int], start: Ints32, tables: MarketTables, state: MarketState) -> None:
    """Read each price level off the win rate through the pooled landscape, as a bidder can."""
    price_at_rate, profile = tables.price_at_win_rate, tables.price_profile_log
    opportunities, impressions, bid_log = state.opportunities, state.impressions, state.bid_log
    level_log, signal_log, pace, in_market = state.price_level_log, state.price_signal_log, state.pace, state.in_market
    segments = impressions.shape[1]
    for n in range(some[0], some[1]):
        to_next_hour = hour_change_log(profile, (start[n] + hour) % len(profile))
        presence = pace[n] * in_market[n]
        for s in range(segments if presence >= SHORTEST_PRESENCE else 0):
            entered = opportunities[n, s] * presence if bid_log[n, s] > 0.0 else 0.0
            track_segment(n, s, entered, impressions[n, s], price_at_rate, bid_log, level_log, signal_log)
        for s in range(segments):
            level_log[n, s] += to_next_hour
