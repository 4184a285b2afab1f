"""How people respond to the adverts of an hour: clicks, conversions and their late reports, and fatigue."""

import math

import numpy as np
import numpy.typing as npt

from gaelp.arrays import Floats, Floats32, Ints, Ints8, Ints32, Uints
from gaelp.market.auction import BLOCK, fill_hour_states
from gaelp.market.compiled import compiled, inlined
from gaelp.market.fading import fade, mature
from gaelp.market.random import SEARCH_MEAN, advance, binomial, keyed, scramble, uniform, uniform_of
from gaelp.market.random_rows import search_binomials
from gaelp.market.state import MarketState, MarketTables
from gaelp.market.world import World

__all__ = ["answer", "remember"]

_CLICK, _CONVERT = 9, 10  # random streams
_RATE_CEILING = 0.9
_ONE = np.float32(1.0)


@compiled
def answer(hour: int, some: tuple[int, int], world: World, tables: MarketTables, state: MarketState) -> None:
    """Draw clicks and conversions of `some` campaigns, from to, and put each conversion into the hour of its report."""
    segments = state.impressions.shape[1]
    impressions, value_micros, clicks = (
        state.impressions.reshape(-1),
        state.value_micros.reshape(-1),
        state.clicks.reshape(-1),
    )
    value_now, base_rate = world.value_micros[hour].reshape(-1), world.click_rate.reshape(-1)
    key, worth_micros = world.key, world.conversion_value_micros
    liking = (tables.affinity, world.persona, state.creative, world.taste)
    tiring = (world.tiring, state.exposure, tables.tiring)
    waiting = (world.delay_hours, world.parameters, tables.delay_share, tables.delay_length, tables.window_hours)
    reported = (state.arriving, state.pending, state.lost_to_window)
    room = BLOCK * segments
    states, appeal, rate, maybe = np.empty(room, np.uint64), np.empty(room, np.float32), np.empty(room), np.empty(room)
    todo, count, work = np.empty(room, np.int64), np.empty(room), np.empty((5, room))
    for first in range(some[0], some[1], BLOCK):
        last = min(first + BLOCK, some[1])
        a, b = first * segments, last * segments
        # Slices, because an index that might be negative keeps the compiler from vectorising.
        shown, clicked, worth = impressions[a:b], clicks[a:b], value_micros[a:b]
        now, base = value_now[a:b], base_rate[a:b]
        fill_hour_states(key[first:last], _CLICK, hour, segments, states)
        _fill_appeal(first, last, liking, tiring, appeal)
        for i in range(len(shown)):
            worth[i] = float(shown[i]) * now[i] * appeal[i]
            rate[i] = min(float(base[i] * appeal[i]), _RATE_CEILING)
            nobody = 1.0 - shown[i] * rate[i]  # never more than the chance of no click
            maybe[i] = uniform_of(scramble(states[i])) - nobody if rate[i] <= 0.5 else 1.0
        places = 0
        for i in range(len(shown)):
            clicked[i] = 0
            todo[places] = i
            places += (shown[i] > 0) & (maybe[i] > 0.0)
        _draw_clicks(todo[:places], shown, rate, states, work, count, clicked)
        for j in range(places):
            i = todo[j]
            if clicked[i] > 0:
                n, s = first + i // segments, i % segments
                chance = min(now[i] / (base[i] * worth_micros[n]), _RATE_CEILING)
                draw = keyed(key[n], _CONVERT, hour, s)
                for _ in range(binomial(clicked[i], chance, draw)):
                    draw = advance(advance(draw))
                    _await(hour, n, s, draw, waiting, reported)


@inlined
def _draw_clicks(
    todo: Ints, shown: Ints32, rate: Floats, states: Uints, work: Floats, count: Floats, clicked: Ints32
) -> None:
    """`binomial` at the places `todo`: those with many clicks one by one, the others searched together."""
    few = 0
    for j in range(len(todo)):
        i = todo[j]
        if shown[i] * rate[i] * (1.0 - rate[i]) >= SEARCH_MEAN:
            clicked[i] = binomial(shown[i], rate[i], states[i])
            todo[j], todo[few] = todo[few], i
            few += 1
    search_binomials(todo[few:], shown, rate, states, work, count)
    for j in range(few, len(todo)):
        clicked[todo[j]] = np.int32(count[todo[j]])


@inlined
def _await(
    hour: int,
    n: int,
    s: int,
    draw: np.uint64,
    waiting: tuple[Floats32, npt.NDArray[np.void], Floats, Floats, int],
    reported: tuple[npt.NDArray[np.int16], Ints32, Ints32],
) -> None:
    """Put a conversion into the hour of its report, if it is attributed at all."""
    delay_hours, parameters, share, length, window_hours = waiting
    arriving, pending, lost = reported
    wait = _wait_hours(delay_hours[n, s], parameters[n].delay_immediate_share, (share, length), draw)
    if wait > window_hours:
        lost[n, s] += 1
    else:
        pending[n, s] += 1
        if wait < len(arriving):  # else it is reported after the flight
            arriving[(hour + wait) % len(arriving), n, s] += 1


@inlined
def _fill_appeal(
    first: int,
    last: int,
    liking: tuple[Floats32, Ints32, Ints8, Floats32],
    tiring: tuple[Floats32, Floats32, bool],
    appeal: Floats32,
) -> None:
    """Factor on click rate and value of a block: how the creative is liked and how tired the audience is of it."""
    affinity, persona, creative, tastes = liking
    strength, exposure, tired = tiring
    segments, creatives = persona.shape[1], affinity.shape[1]
    kinds, served = persona[first:last].reshape(-1), creative[first:last].reshape(-1)
    liked = affinity.reshape(-1)
    for i in range(len(kinds)):
        appeal[i] = liked[np.uint64(kinds[i] * creatives + served[i])] if creatives > 1 else _ONE
    for n in range(last - first):
        taste = tastes[first + n]
        if taste != _ONE and creatives > 1:
            for i in range(n * segments, (n + 1) * segments):
                appeal[i] = appeal[i] ** taste
    if tired:
        tires, recent = strength[first:last].reshape(-1), exposure[first:last].reshape(-1)
        for i in range(len(tires)):
            appeal[i] /= _ONE + tires[i] * recent[i]


@compiled
def _wait_hours(mean_hours: float, immediate_share: float, parts: tuple[Floats, Floats], key: np.uint64) -> int:
    """Whole hours from click to report: at once for a share, one of the exponential parts for the rest."""
    u = uniform(key)
    if mean_hours <= 0.0 or u < immediate_share:
        return 0
    share, length = parts
    part, beyond = 0, (u - immediate_share) / (1.0 - immediate_share) - share[0]
    while part < len(share) - 1 and beyond >= 0.0:
        part += 1
        beyond -= share[part]
    return int(-mean_hours * length[part] * math.log(uniform(advance(key))))


@compiled
def remember(hour: int, some: tuple[int, int], world: World, tables: MarketTables, state: MarketState) -> None:
    """Report the conversions due, add the hour to the totals, and let exposure and open clicks fade."""
    a, b = some
    _report_due(
        state.arriving[hour % len(state.arriving), a:b].reshape(-1),
        state.conversions[a:b].reshape(-1),
        state.pending[a:b].reshape(-1),
        state.total_conversions[a:b].reshape(-1),
    )
    _add(state.impressions[a:b].reshape(-1), state.total_impressions[a:b].reshape(-1))
    _add(state.clicks[a:b].reshape(-1), state.total_clicks[a:b].reshape(-1))
    _add(state.cost_micros[a:b].reshape(-1), state.total_cost_micros[a:b].reshape(-1))
    clicks, open_share, maturing = state.clicks, world.open_share, state.maturing_clicks
    parts, kept, share = state.maturing_parts, world.maturing_kept, tables.delay_share
    for first in range(a, b, BLOCK):
        mature(first, min(first + BLOCK, b), clicks, open_share, share, kept, parts, maturing)
    fade(
        world.exposure_kept[a:b].reshape(-1),
        state.impressions[a:b].reshape(-1),
        world.audience[a:b].reshape(-1),
        state.exposure[a:b].reshape(-1),
    )


@inlined
def _report_due(due: npt.NDArray[np.int16], conversions: Ints32, pending: Ints32, total_conversions: Ints32) -> None:
    """Move the conversions due now from pending to reported; all rows are flat."""
    for i in range(len(due)):
        conversions[i] = due[i]
        pending[i] -= due[i]
        total_conversions[i] += due[i]
    for i in range(len(due)):
        due[i] = 0


@inlined
def _add(row: Ints | Ints32, total: Ints | Ints32) -> None:
    """Add an hour to the totals; both rows are flat."""
    for i in range(len(row)):
        total[i] += row[i]
