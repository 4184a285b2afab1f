"""One campaign's episode as rows of hours x segments: volumes, price levels and values, drawn row by row.

All rows of one campaign stay in the processor's cache, and every loop but the lookups runs over neighbours, which is
what makes drawing fast. Within a row the segments of one hour stand together.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gaelp.market.compiled import compiled
from gaelp.market.random import advance, counter, keyed, normal
from gaelp.market.random_rows import fill_normals, fill_poissons, fill_quantiles, fill_states, fill_uniforms

__all__ = ["DAY_HOURS", "Sheet", "draw_common", "draw_price", "draw_value", "draw_volume", "empty_sheet"]

DAY_HOURS = 24
WAVE_HOUR = 7  # prices cross their mean upwards here: dearest six hours later, cheapest six hours before
_WEEK_HOURS = 168
_VOLUME, _COMMON, _DRIFT, _RIVALS, _VALUE = 4, 5, 6, 7, 11  # random streams of this module
_JUMP_START, _JUMP_END = 0.015, 0.06  # chance an hour that a price jump begins or ends

Record = Any  # one campaign of parameters.PARAMETERS; its fields are known to numpy, not to the type checker
Words = npt.NDArray[np.uint64]
Singles = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Index = npt.NDArray[np.int32]


class Sheet(NamedTuple):
    """Rows of hours x segments, flat, of the campaign at hand; the segments' own numbers; and room to work in."""

    volume: Doubles
    level_log: Doubles
    value_log: Doubles
    common_log: Doubles  # (T,) price movement shared by all segments
    segment_volume: Doubles  # (S,) this and the next two: the mean of each segment
    segment_price_log: Doubles
    segment_value_log: Doubles
    drift: Doubles  # (S,)
    jump: Doubles  # (S,)
    counters: Words
    states: Words
    draws: Doubles  # this and the next two: random numbers of one purpose
    more_draws: Doubles
    chances: Doubles
    cells: npt.NDArray[np.int64]


def empty_sheet(hours: int, segments: int) -> Sheet:
    """A sheet to draw one campaign after another on."""
    places = hours * segments
    row, each = np.empty(places), np.empty(segments)
    return Sheet(
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
def _counters(hours: int, segments: int) -> Words:
    out = np.empty(hours * segments, np.uint64)
    for t in range(hours):
        for s in range(segments):
            out[t * segments + s] = counter(t, s)
    return out


@compiled
def draw_volume(key: np.uint64, sheet: Sheet, kinds: Index, activity: Singles, start: int, gamma: Doubles) -> None:
    """Negative binomial: a Poisson count around a gamma-distributed mean."""
    mean, volume, segments = sheet.draws, sheet.segment_volume, len(kinds)
    fill_states(key, _VOLUME, sheet.counters, sheet.states)
    fill_quantiles(sheet.states, gamma, mean)
    hour, i = start, 0
    for _ in range(len(sheet.common_log)):
        for s in range(segments):
            mean[i] *= volume[s] * activity[kinds[s], hour]
            i += 1
        hour = hour + 1 if hour < _WEEK_HOURS - 1 else 0
    fill_normals(sheet.states, 1, sheet.cells, sheet.more_draws)
    fill_poissons(sheet.states, mean, sheet.more_draws, sheet.volume)


@compiled
def draw_common(key: np.uint64, p: Record, wave: float, common_log: Doubles) -> None:
    """Price movement all segments share: daily wave, AR(1) drift, and rivals who stop bidding in the evening."""
    kept = p.price_drift_persistence
    fresh = math.sqrt(1.0 - kept * kept)
    drift = 0.0
    stop_hour = 0.0
    depth = 0.0
    for t in range(len(common_log)):
        hour = t % DAY_HOURS
        if hour == 0:
            state = keyed(key, _RIVALS, t, 0)
            random = p.rivals_randomness
            stop_hour = p.rivals_around_hour + 2.0 * random * normal(state)
            depth = p.rivals_depth * math.exp(0.5 * random * normal(advance(state)) - 0.125 * random * random)
        shock = p.price_common_drift_sd * normal(keyed(key, _COMMON, t, 0))
        drift = shock if t == 0 else kept * drift + fresh * shock
        diurnal = p.price_diurnal_amplitude * wave * math.sin(2.0 * math.pi * (hour - WAVE_HOUR) / DAY_HOURS)
        common_log[t] = diurnal + drift - depth / (1.0 + math.exp(stop_hour - hour))


@compiled
def draw_price(key: np.uint64, p: Record, sheet: Sheet) -> None:
    """Log level by hour: fixed level + common movement + the segment's own drift, jumps and noise."""
    kept, drift_sd, noise_sd = p.price_drift_persistence, p.price_segment_drift_sd, p.price_hourly_noise_sd
    shocks, noise, price, out = sheet.draws, sheet.more_draws, sheet.segment_price_log, sheet.level_log
    drift, common_log, segments = sheet.drift, sheet.common_log, len(price)
    fill_states(key, _DRIFT, sheet.counters, sheet.states)
    fill_normals(sheet.states, 0, sheet.cells, shocks)
    fill_normals(sheet.states, 1, sheet.cells, noise)
    _move(shocks, kept, drift_sd, drift)
    if p.price_jump_log_size > 0.0:
        _draw_jumps(sheet, p.price_jump_log_size)
    else:
        sheet.chances[:] = 0.0
    for t in range(len(common_log)):
        common, row = common_log[t], t * segments
        for s in range(segments):
            i = row + s
            out[i] = price[s] + common + shocks[i] + sheet.chances[i] + noise_sd * noise[i]


@compiled
def _move(shocks: Doubles, kept: float, sd: float, drift: Doubles) -> None:
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
def _draw_jumps(sheet: Sheet, size: float) -> None:
    """How much each price is raised by a jump that has begun and not ended, as `chances`."""
    jump, chances, states, segments = sheet.jump, sheet.chances, sheet.states, len(sheet.jump)
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
def draw_value(key: np.uint64, p: Record, sheet: Sheet, kinds: Index, intent_log: Singles) -> None:
    """Log expected value of an impression by hour: fixed + daypart intent + drift."""
    kept, drift_sd, daypart = p.price_drift_persistence, p.response_value_drift_sd, p.response_daypart_amplitude
    shocks, value, out, segments = sheet.draws, sheet.segment_value_log, sheet.value_log, len(kinds)
    if drift_sd > 0.0:
        fill_states(key, _VALUE, sheet.counters, sheet.states)
        fill_normals(sheet.states, 0, sheet.cells, shocks)
        _move(shocks, kept, drift_sd, sheet.drift)
    else:
        shocks[:] = 0.0
    hour, i = 0, 0
    for _ in range(len(sheet.common_log)):
        for s in range(segments):
            out[i] = value[s] + daypart * intent_log[kinds[s], hour] + shocks[i]
            i += 1
        hour = hour + 1 if hour < DAY_HOURS - 1 else 0
