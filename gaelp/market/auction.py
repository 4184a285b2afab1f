"""The auctions of one hour: what every bid wins and pays, cut back to the money that is left.

Campaigns go through in blocks that fit the processor's cache, flat, segment after segment. Arithmetic, table lookups
and branches have loops of their own, so that the compiler can vectorise the first.
"""

import numpy as np

from gaelp.arrays import Floats, Floats32, Ints, Ints32, Uints
from gaelp.market.compiled import compiled, inlined
from gaelp.market.exponential import log
from gaelp.market.landscape import CELLS_PER_LOG, GRID_LOW, LAST_POSITION
from gaelp.market.random import SEARCH_MEAN, corrected, counter, scramble, stream_start
from gaelp.market.random_rows import search_binomials, signed_tail, to_normals
from gaelp.market.state import MarketState, MarketTables
from gaelp.market.world import World

__all__ = ["BLOCK", "fill_hour_states", "hold_auctions"]

BLOCK = 64  # campaigns
_AUCTION = 8  # random stream
_NO_CHANCE = 1e-12


@compiled
def hold_auctions(
    hour: int, some: tuple[int, int], world: World, tables: MarketTables, state: MarketState, bid_micros: Ints
) -> None:
    """Enter every segment's auctions, then cut each campaign back to the money it has; `some` campaigns, from to."""
    key, pace, left_micros, day_left_micros = world.key, state.pace, state.left_micros, state.day_left_micros
    in_market = state.in_market
    segments = bid_micros.shape[1]
    bids, rows = bid_micros.reshape(-1), world.landscape.reshape(-1)
    volume, level_log = world.volume[hour].reshape(-1), world.level_log[hour].reshape(-1)
    level_micros, bid_log = world.level_micros[hour].reshape(-1), state.bid_log.reshape(-1)
    impressions, cost_micros = state.impressions.reshape(-1), state.cost_micros.reshape(-1)
    win, cost, points = tables.win.reshape(-1), tables.cost.reshape(-1), tables.win.shape[1]
    places = BLOCK * segments
    states, cells = np.empty(places, np.uint64), np.empty(places, np.int64)
    entered, chance, each, won = np.empty(places), np.empty(places), np.empty(places), np.empty(places)
    work = np.empty((5, places))
    for first in range(some[0], some[1], BLOCK):
        last = min(first + BLOCK, some[1])
        a, b = first * segments, last * segments
        fill_hour_states(key[first:last], _AUCTION, hour, segments, states)
        for n in range(first, last):
            for s in range(segments):
                entered[(n - first) * segments + s] = pace[n] if day_left_micros[n] > 0 else -1.0
        _look_up(bids[a:b], bid_log[a:b], level_log[a:b], rows[a:b], (win, cost, points), cells, chance, each)
        _draw_won(bids[a:b], volume[a:b], level_micros[a:b], states, cells, entered, chance, each, work, won)
        _settle(
            won, each, entered, impressions[a:b], cost_micros[a:b], in_market[first:last], day_left_micros[first:last]
        )
        for n in range(first, last):
            spent = 0
            for i in range(n * segments, (n + 1) * segments):
                spent += cost_micros[i]
            left_micros[n] -= spent
            day_left_micros[n] = min(day_left_micros[n] - spent, left_micros[n])


@compiled
def fill_hour_states(key: Uints, stream: int, hour: int, segments: int, out: Uints) -> None:
    """Where one stream of every campaign and segment starts this hour: `keyed` for a block."""
    start = stream_start(stream)
    for n in range(len(key)):
        for s in range(segments):
            out[n * segments + s] = scramble(key[n] ^ (start + counter(hour, s)))


@inlined
def _look_up(
    bids: Ints,
    bid_log: Floats32,
    level_log: Floats32,
    rows: Ints32,
    tables: tuple[Floats32, Floats32, int],
    cells: Ints,
    chance: Floats,
    each: Floats,
) -> None:
    """Chance to win and expected cost of every auction over its price level, by the log of bid over level."""
    win, cost, points = tables
    for i in range(len(bids)):
        bid_log[i] = log(float(max(bids[i], 1)))
    for i in range(len(bids)):
        position = min(max((float(bid_log[i] - level_log[i]) - GRID_LOW) * CELLS_PER_LOG, 0.0), LAST_POSITION)
        cell = np.int32(position)
        cells[i] = rows[i] * points + cell
        each[i] = position - cell
    for i in range(len(bids)):
        at, part = np.uint64(cells[i]), each[i]
        low = win[at]
        chance[i] = low + part * (win[at + np.uint64(1)] - low)
        low = cost[at]
        each[i] = low + part * (cost[at + np.uint64(1)] - low)


@inlined
def _draw_won(
    bids: Ints,
    volume: Ints32,
    level_micros: Floats32,
    states: Uints,
    cells: Ints,
    entered: Floats,
    chance: Floats,
    each: Floats,
    room: Floats,
    won: Floats,
) -> None:
    """Auctions won, were there money for all, and the price of each; `binomial` for every place."""
    size = len(bids)
    for i in range(size):
        won[i] = signed_tail(scramble(states[i]))
    to_normals(cells[:size], won[:size])
    for i in range(size):
        bids_at_all = (bids[i] > 0) & (entered[i] >= 0.0) & (chance[i] > _NO_CHANCE)
        paid = min(level_micros[i] * each[i] / chance[i], float(bids[i]))
        each[i] = paid if bids_at_all else 0.0
        p = chance[i] * entered[i] if bids_at_all else 0.0
        chance[i] = p
        trials = float(volume[i])
        variance = trials * p * (1.0 - p)
        safe = max(variance, SEARCH_MEAN)
        third, fourth = safe * (1.0 - 2.0 * p), safe * (1.0 - 6.0 * p * (1.0 - p))
        count = min(max(corrected(won[i], trials * p, safe, third, fourth), 0.0), trials)
        won[i] = count if variance >= SEARCH_MEAN else -1.0
    few = 0
    for i in range(size):
        cells[few] = i
        few += won[i] < 0.0
    search_binomials(cells[:few], volume, chance, states, room, won)


@compiled
def _settle(
    won: Floats,
    each: Floats,
    share: Floats,
    impressions: Ints32,
    cost: Ints,
    in_market: Floats32,
    affordable_micros: Ints,
) -> None:
    """Impressions and cost of a block, and the share of the hour until each campaign's money ran out."""
    segments = len(impressions) // len(in_market)
    for n in range(len(in_market)):
        wanted = 0.0
        for i in range(n * segments, (n + 1) * segments):
            wanted += won[i] * each[i]
        until = 1.0 if wanted <= affordable_micros[n] else affordable_micros[n] / wanted
        in_market[n] = until
        for i in range(n * segments, (n + 1) * segments):  # every segment stops at the same moment
            share[i] = until
    for i in range(len(impressions)):
        count = int(won[i] * share[i])
        impressions[i] = np.int32(count)
        cost[i] = int(count * each[i])
    for n in range(len(in_market)):
        spent = 0
        for i in range(n * segments, (n + 1) * segments):
            spent += cost[i]
        if spent > affordable_micros[n]:  # by rounding
            spent = 0
            for i in range(n * segments, (n + 1) * segments):
                impressions[i] = _fitting(int(won[i] * share[i]), each[i], affordable_micros[n] - spent)
                cost[i] = int(impressions[i] * each[i])
                spent += cost[i]


@inlined
def _fitting(won: int, each_micros: float, affordable: int) -> int:
    """As many impressions as the money buys: rounding must never cost a micro too much."""
    while won > 0 and int(won * each_micros) > affordable:
        won -= 1
    return won
