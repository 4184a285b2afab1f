"""One campaign's episode as rows of hours x segments: volumes, price levels and values, drawn row by row.

All rows of one campaign stay in the processor's cache, and every loop but the lookups runs over neighbours, which is
what makes drawing fast. Within a row the segments of one hour are adjacent.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from gaelp.arrays import Floats, Floats32, Ints, Ints32, Uints
from gaelp.market.compiled import compiled
from gaelp.market.random import advance, counter, keyed, normal
from gaelp.market.random_rows import fill_normals, fill_poissons, fill_quantiles, fill_states, fill_uniforms

__all__ = ["DAY_HOURS", "EpisodeRows", "draw_common", "draw_price", "draw_value", "draw_volume", "empty_rows"]

DAY_HOURS = 24
WAVE_HOUR = 7  # prices cross their mean upwards here: dearest six hours later, cheapest six hours before
_WAVE = np.array([math.sin(2.0 * math.pi * (hour - WAVE_HOUR) / DAY_HOURS) for hour in range(DAY_HOURS)])
_WEEK_HOURS = 168
_VOLUME, _COMMON, _DRIFT, _RIVALS, _VALUE = 4, 5, 6, 7, 11  # random streams of this module
_JUMP_START, _JUMP_END = 0.015, 0.06  # chance an hour that a price jump begins or ends

Record = Any  # one campaign of parameters.PARAMETERS; its fields are known to numpy, not to the type checker


class EpisodeRows(NamedTuple):
    """Rows of hours x segments, flat, of the current campaign; the segments' own numbers; and room to work in."""

    volume: Floats
    level_log: Floats
    value_log: Floats
    common_log: Floats  # (T,) price movement shared by all segments
    segment_volume: Floats  # (S,) this and the next two: the mean of each segment
    segment_price_log: Floats
    segment_value_log: Floats
    drift: Floats  # (S,)
    jump: Floats  # (S,)
    counters: Uints
    states: Uints
    draws: Floats  # this and the next two: random numbers of one purpose
    more_draws: Floats
    chances: Floats
    cells: Ints


def empty_rows(hours: int, segments: int) -> EpisodeRows:
    """Rows to fill with one campaign after another."""
    places = hours * segments
    row, each = np.empty(places), np.empty(segments)
    return EpisodeRows(
        volume=row,
        level_log=row.copy(),
        value_log=row.copy(),
        common_log=np.empty(hours),
        segment_volume=each,
        segment_price_log=each.copy(),
        segment_value_log=each.copy(),
        drift=each.copy(),
        jump=each.copy(),
        counters=_counters(hours, segments),
        states=np.empty(places, np.uint64),
        draws=row.copy(),
        more_draws=row.copy(),
        chances=row.copy(),
        cells=np.empty(places, np.int64),
    )


@compiled
def _counters(hours: int, segments: int) -> Uints:
    out = np.empty(hours * segments, np.uint64)
    for t in range(hours):
        for s in range(segments):
            out[t * segments + s] = counter(t, s)
    return out


@compiled
def draw_volume(
    key: np.uint64, rows: EpisodeRows, kinds: Ints32, activity: Floats32, start: int, gamma: Floats
) -> None:
    """Negative binomial: a Poisson count around a gamma-distributed mean."""
    mean, volume, segments = rows.draws, rows.segment_volume, len(kinds)
    fill_states(key, _VOLUME, rows.counters, rows.states)
    fill_quantiles(rows.states, gamma, mean)
    hour, i = start, 0
    for _ in range(len(rows.common_log)):
        for s in range(segments):
            mean[i] *= volume[s] * activity[kinds[s], hour]
            i += 1
        hour = hour + 1 if hour < _WEEK_HOURS - 1 else 0
    fill_normals(rows.states, 1, rows.cells, rows.more_draws)
    fill_poissons(rows.states, mean, rows.more_draws, rows.volume)


@compiled
def draw_common(key: np.uint64, p: Record, start: int, wave: float, common_log: Floats) -> None:
    """Price movement all segments share: daily wave, AR(1) drift, and rivals who stop bidding in the evening.

    `start` is the hour of day or of week at launch.
    """
    kept = p.price_drift_persistence
    fresh = math.sqrt(1.0 - kept * kept)
    drift = 0.0
    stop_hour = 0.0
    depth = 0.0
    for t in range(len(common_log)):
        hour = (start + t) % DAY_HOURS
        if t == 0 or hour == 0:
            state = keyed(key, _RIVALS, t, 0)
            random = p.rivals_randomness
            stop_hour = p.rivals_around_hour + 2.0 * random * normal(state)
            depth = p.rivals_depth * math.exp(0.5 * random * normal(advance(state)) - 0.125 * random * random)
        shock = p.price_common_drift_sd * normal(keyed(key, _COMMON, t, 0))
        drift = shock if t == 0 else kept * drift + fresh * shock
        diurnal = p.price_diurnal_amplitude * wave * _WAVE[hour]
        common_log[t] = diurnal + drift - depth / (1.0 + math.exp(stop_hour - hour))


@compiled
def draw_price(key: np.uint64, p: Record, rows: EpisodeRows) -> None:
    """Log level by hour: fixed level + common movement + the segment's own drift, jumps and noise."""
    kept, drift_sd, noise_sd = p.price_drift_persistence, p.price_segment_drift_sd, p.price_hourly_noise_sd
    shocks, noise, price, out = rows.draws, rows.more_draws, rows.segment_price_log, rows.level_log
    drift, common_log, segments = rows.drift, rows.common_log, len(price)
    fill_states(key, _DRIFT, rows.counters, rows.states)
    fill_normals(rows.states, 0, rows.cells, shocks)
    fill_normals(rows.states, 1, rows.cells, noise)
    _move(shocks, kept, drift_sd, drift)
    if p.price_jump_log_size > 0.0:
        _draw_jumps(rows, p.price_jump_log_size)
    else:
        rows.chances[:] = 0.0
    for t in range(len(common_log)):
        common, row = common_log[t], t * segments
        for s in range(segments):
            i = row + s
            out[i] = price[s] + common + shocks[i] + rows.chances[i] + noise_sd * noise[i]


@compiled
def _move(shocks: Floats, kept: float, sd: float, drift: Floats) -> None:
    """Standard shocks become an AR(1) drift with this standard deviation, in place."""
    segments = len(drift)
    fresh = math.sqrt(1.0 - kept * kept)
    for s in range(segments):
        shocks[s] *= sd
        drift[s] = shocks[s]
    for row in range(segments, len(shocks), segments):
        for s in range(segments):
            drift[s] = kept * drift[s] + fresh * (sd * shocks[row + s])
            shocks[row + s] = drift[s]


@compiled
def _draw_jumps(rows: EpisodeRows, size: float) -> None:
    """How much each price is raised by a jump that has begun and not ended, as `chances`."""
    jump, chances, states, segments = rows.jump, rows.chances, rows.states, len(rows.jump)
    for i in range(len(states)):
        states[i] = advance(advance(states[i]))
    fill_uniforms(states, chances)
    jump[:] = 0.0
    for row in range(0, len(chances), segments):
        for s in range(segments):
            u = chances[row + s]
            begun = size if u < _JUMP_START else 0.0
            going_on = 0.0 if u < _JUMP_END else size
            jump[s] = begun if jump[s] == 0.0 else going_on
            chances[row + s] = jump[s]


@compiled
def draw_value(key: np.uint64, p: Record, rows: EpisodeRows, kinds: Ints32, intent_log: Floats32, start: int) -> None:
    """Log expected value of an impression by hour: fixed + daypart intent + drift."""
    kept, drift_sd, daypart = p.price_drift_persistence, p.response_value_drift_sd, p.response_daypart_amplitude
    shocks, value, out, segments = rows.draws, rows.segment_value_log, rows.value_log, len(kinds)
    if drift_sd > 0.0:
        fill_states(key, _VALUE, rows.counters, rows.states)
        fill_normals(rows.states, 0, rows.cells, shocks)
        _move(shocks, kept, drift_sd, rows.drift)
    else:
        shocks[:] = 0.0
    hour, i = start % DAY_HOURS, 0
    for _ in range(len(rows.common_log)):
        for s in range(segments):
            out[i] = value[s] + daypart * intent_log[kinds[s], hour] + shocks[i]
            i += 1
        hour = hour + 1 if hour < DAY_HOURS - 1 else 0
