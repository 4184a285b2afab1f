"""How people respond to the adverts of an hour: clicks, conversions and their late reports, and fatigue."""

import math

import numpy as np
import numpy.typing as npt

from gaelp.arrays import Floats, Floats32, Ints, Ints8, Ints32
from gaelp.market.auction import BLOCK, fill_hour_states
from gaelp.market.compiled import compiled, inlined
from gaelp.market.random import advance, binomial, keyed, scramble, uniform, uniform_of
from gaelp.market.state import MarketState, MarketTables
from gaelp.market.world import World

__all__ = ["answer", "remember"]

_CLICK, _CONVERT = 9, 10  # random streams
_RATE_CEILING = 0.9
_ONE = np.float32(1.0)


@compiled
def answer(hour: int, world: World, tables: MarketTables, state: MarketState) -> None:
    """Draw clicks and conversions, and put each conversion into the hour of its report."""
    campaigns, segments = state.impressions.shape
    impressions, value_micros, clicks = (
        state.impressions.reshape(-1),
        state.value_micros.reshape(-1),
        state.clicks.reshape(-1),
    )
    value_now, base_rate = world.value_micros[hour].reshape(-1), world.click_rate.reshape(-1)
    key, worth_micros = world.key, world.conversion_value_micros
    arriving, pending, lost = state.arriving, state.pending, state.lost_to_window
    delay_hours, at_once = world.delay_hours, world.parameters
    parts = (tables.delay_share, tables.delay_length)
    liking = (tables.affinity, world.persona, state.creative)
    tiring = (tables.fatigue, state.exposure, tables.tiring)
    room = BLOCK * segments
    states, appeal, rate, maybe = np.empty(room, np.uint64), np.empty(room, np.float32), np.empty(room), np.empty(room)
    for first in range(0, campaigns, BLOCK):
        last = min(first + BLOCK, campaigns)
        a, b = first * segments, last * segments
        # Slices, because an index that might be negative keeps the compiler from vectorising.
        shown, clicked, worth = impressions[a:b], clicks[a:b], value_micros[a:b]
        now, base = value_now[a:b], base_rate[a:b]
        fill_hour_states(key[first:last], _CLICK, hour, segments, states)
        _fill_appeal(first, last, world.parameters, liking, tiring, appeal)
        for i in range(len(shown)):
            worth[i] = float(shown[i]) * now[i] * appeal[i]
            rate[i] = min(float(base[i] * appeal[i]), _RATE_CEILING)
            nobody = 1.0 - shown[i] * rate[i]  # never more than the chance of no click
            maybe[i] = uniform_of(scramble(states[i])) - nobody if rate[i] <= 0.5 else 1.0
        for i in range(len(shown)):
            clicked[i] = 0
            if shown[i] > 0 and maybe[i] > 0.0:
                clicked[i] = binomial(shown[i], rate[i], states[i])
            if clicked[i] > 0:
                n, s = first + i // segments, i % segments
                chance = min(now[i] / (base[i] * worth_micros[n]), _RATE_CEILING)
                draw = keyed(key[n], _CONVERT, hour, s)
                for _ in range(binomial(clicked[i], chance, draw)):
                    draw = advance(advance(draw))
                    wait = _wait_hours(delay_hours[n, s], at_once[n].delay_immediate_share, parts, draw)
                    if wait > tables.window_hours:
                        lost[n, s] += 1
                        continue
                    pending[n, s] += 1
                    if wait < len(arriving):  # else it is reported after the flight
                        arriving[(hour + wait) % len(arriving), n, s] += 1


@inlined
def _fill_appeal(
    first: int,
    last: int,
    parameters: npt.NDArray[np.void],
    liking: tuple[Floats32, Ints32, Ints8],
    tiring: tuple[Floats32, Floats32, bool],
    appeal: Floats32,
) -> None:
    """Factor on click rate and value of a block: how the creative is liked and how tired the audience is of it."""
    affinity, persona, creative = liking
    fatigue, exposure, tired = tiring
    segments = persona.shape[1]
    kinds, served, creatives = persona[first:last].reshape(-1), creative[first:last].reshape(-1), affinity.shape[1]
    liked = affinity.reshape(-1)
    for i in range(len(kinds)):
        appeal[i] = liked[np.uint64(kinds[i] * creatives + served[i])] if creatives > 1 else _ONE
    for n in range(last - first):
        taste = np.float32(parameters[first + n].creatives_affinity_strength)
        if taste != _ONE and creatives > 1:
            for i in range(n * segments, (n + 1) * segments):
                appeal[i] = appeal[i] ** taste
    if tired:
        recent = exposure[first:last].reshape(-1)
        for n in range(last - first):
            strength = np.float32(parameters[first + n].fatigue_strength)
            for i in range(n * segments, (n + 1) * segments):
                appeal[i] /= _ONE + strength * fatigue[np.uint64(kinds[i])] * recent[i]


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
def remember(hour: int, world: World, tables: MarketTables, state: MarketState) -> None:
    """Report the conversions due, add the hour to the totals, and let exposure and open clicks fade."""
    campaigns, segments = state.impressions.shape
    _report_due(
        state.arriving[hour % len(state.arriving)].reshape(-1),
        state.conversions.reshape(-1),
        state.pending.reshape(-1),
        state.total_conversions.reshape(-1),
    )
    _add(state.impressions.reshape(-1), state.total_impressions.reshape(-1))
    _add(state.clicks.reshape(-1), state.total_clicks.reshape(-1))
    _add(state.cost_micros.reshape(-1), state.total_cost_micros.reshape(-1))
    impressions, clicks = state.impressions, state.clicks
    maturing, maturing_kept, parts = state.maturing_clicks, world.maturing_kept, state.maturing_parts
    exposure, exposure_kept, audience = state.exposure, world.exposure_kept, world.audience
    parameters = world.parameters
    for n in range(campaigns):
        open_share = np.float32(1.0 - parameters[n].delay_immediate_share)
        kept = exposure_kept[n]
        if parts.shape[1] == 0:
            for s in range(segments):
                opened = np.float32(maturing[n, s] + float(clicks[n, s]) * float(open_share))
                maturing[n, s] = opened * maturing_kept[n, 0, s]
        else:
            maturing[n] = 0.0
            for k in range(parts.shape[1]):
                share = open_share * np.float32(tables.delay_share[k])
                for s in range(segments):
                    parts[n, k, s] = (parts[n, k, s] + share * np.float32(clicks[n, s])) * maturing_kept[n, k, s]
                    maturing[n, s] += parts[n, k, s]
        for s in range(segments):
            faded = exposure[n, s] * kept
            exposure[n, s] = float(faded) + float(impressions[n, s]) / float(audience[n, s])


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
