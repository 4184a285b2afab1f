"""Rows of random numbers at once: the draws of `random`, number for number, in loops that the compiler can vectorise.

A row belongs to one campaign and stream; `counters` says which hour and segment each place is. Table lookups
have loops of their own, because one lookup among the arithmetic keeps the compiler from vectorising all of it.
"""

import math

import numpy as np

from gaelp.arrays import Floats, Ints, Ints32, Uints
from gaelp.market.compiled import compiled, inlined
from gaelp.market.exponential import exp, log
from gaelp.market.random import (
    CELL_SHIFT,
    FIRST_CELL,
    LONGEST_SEARCH,
    SEARCH_MEAN,
    TAIL_SLOPE,
    TAIL_START,
    advance,
    corrected,
    log_one_minus_small,
    poisson,
    scramble,
    stream_start,
    uniform_of,
)

__all__ = [
    "fill_normals",
    "fill_poissons",
    "fill_quantiles",
    "fill_states",
    "fill_uniforms",
    "search_binomials",
    "signed_tail",
    "to_normals",
]


_ONE, _S12, _S63 = np.uint64(1), np.uint64(12), np.uint64(63)
_MAGNITUDE = 2**63 - 1  # all bits of a double but the sign
# A whole number below 2**52 in the mantissa of this word, less 2**52, is that number as a double.
_WHOLE_BITS, _WHOLE = np.uint64(0x4330000000000000), 2.0**52
_TO_UNIT = 2.0**-53
_LOG2 = math.log(2.0)


@compiled
def fill_states(key: np.uint64, stream: int, counters: Uints, out: Uints) -> None:
    """Where the stream of each place starts: `keyed` for a whole row."""
    start = stream_start(stream)
    for i in range(len(out)):
        out[i] = scramble(key ^ (start + counters[i]))


@compiled
def fill_uniforms(states: Uints, out: Floats) -> None:
    """`uniform` of each state."""
    for i in range(len(out)):
        out[i] = uniform_of(scramble(states[i]))


@inlined
def signed_tail(word: np.uint64) -> float:
    """Tail probability of a normal draw, with the sign of the draw."""
    tail = (np.uint64((word >> _S12) | _WHOLE_BITS).view(np.float64) - _WHOLE + 0.5) * _TO_UNIT
    return np.uint64(np.float64(tail).view(np.uint64) ^ ((~word & _ONE) << _S63)).view(np.float64)


@compiled
def fill_normals(states: Uints, steps: int, cells: Ints, out: Floats) -> None:
    """`normal` of each state, so many steps on."""
    ahead = advance(np.uint64(0)) * np.uint64(steps)
    for i in range(len(out)):
        out[i] = signed_tail(scramble(states[i] + ahead))
    to_normals(cells, out)


@compiled
def to_normals(cells: Ints, row: Floats) -> None:
    """Signed tail probabilities become normal numbers, in place."""
    for i in range(len(row)):
        magnitude = int(np.float64(row[i]).view(np.int64)) & _MAGNITUDE
        cells[i] = max((magnitude >> CELL_SHIFT) - FIRST_CELL, 0)
    for i in range(len(row)):
        cell = np.uint64(cells[i])
        row[i] = np.copysign(TAIL_START[cell], row[i]) + TAIL_SLOPE[cell] * row[i]


@compiled
def fill_quantiles(states: Uints, table: Floats, out: Floats) -> None:
    """`quantile` of each state."""
    last = len(table) - 1
    for i in range(len(out)):
        out[i] = uniform_of(scramble(states[i])) * last
    for i in range(len(out)):
        index = np.int64(out[i])
        low = table[np.uint64(index)]
        out[i] = low + (out[i] - index) * (table[np.uint64(index + 1)] - low)


@compiled
def fill_poissons(states: Uints, mean: Floats, z: Floats, out: Floats) -> None:
    """`poisson` of each mean, one step on in each stream; `z` are the normal numbers there."""
    for i in range(len(out)):
        safe = max(mean[i], SEARCH_MEAN)
        out[i] = max(corrected(z[i], safe, safe, safe, safe), 0.0)
    for i in range(len(out)):
        if mean[i] < SEARCH_MEAN:
            out[i] = poisson(mean[i], advance(states[i]))


@compiled
def search_binomials(
    todo: Ints,
    trials: Ints32,
    chance: Floats,
    states: Uints,
    room: Floats,
    out: Floats,
) -> None:
    """`binomial` by search at the places `todo`, all of them a count further at a time; `room` is (5, places)."""
    count, n, odds, u, term = room[0], room[1], room[2], room[3], room[4]
    size = len(todo)
    for j in range(size):
        i = todo[j]
        n[j], odds[j] = trials[i], chance[i]
        u[j] = uniform_of(scramble(states[i]))
    for j in range(size):
        p = max(1.0 - odds[j] if odds[j] > 0.5 else odds[j], 0.0)
        from_log = log(2.0 * (1.0 - p)) - _LOG2
        term[j] = exp(n[j] * (from_log if p > 0.05 else log_one_minus_small(p)))
        odds[j] = p / (1.0 - p)
        count[j] = 0.0
    # A finished draw has a rest of u below 0 and continues without effect: skipping it would take longer.
    for k in range(1, LONGEST_SEARCH + 1):
        part = 1.0 / k
        for j in range(size):
            chance_of_k = term[j]
            u[j] -= chance_of_k
            count[j] += 1.0 if u[j] > 0.0 else 0.0
            term[j] = chance_of_k * (odds[j] * (n[j] - k + 1.0) * part)
        if k % 4 == 0 and not _any_above_zero(u[:size]):
            break
    for j in range(size):
        i = todo[j]
        successes = min(count[j], n[j])
        out[i] = n[j] - successes if chance[i] > 0.5 else successes


@inlined
def _any_above_zero(row: Floats) -> bool:
    above = 0
    for j in range(len(row)):
        above += row[j] > 0.0
    return above > 0
