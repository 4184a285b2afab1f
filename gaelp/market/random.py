"""Counter-based random numbers for compiled loops: every draw depends on (seed, stream, hour, segment) alone.

A draw starts at `keyed(key, stream, hour, segment)` and walks on by `advance`; nothing is shared between campaigns, so
a campaign's path is the same whatever its neighbours, its place in the batch or the split into shards.
"""

import math

import numpy as np
from scipy import special

from gaelp.arrays import Floats, Uints
from gaelp.market.compiled import compiled, inlined

__all__ = [
    "CELL_SHIFT",
    "FIRST_CELL",
    "LONGEST_SEARCH",
    "SEARCH_MEAN",
    "TAIL_SLOPE",
    "TAIL_START",
    "advance",
    "binomial",
    "corrected",
    "counter",
    "gamma_table",
    "keyed",
    "keys_of",
    "log_one_minus_small",
    "normal",
    "poisson",
    "quantile",
    "scramble",
    "stream_start",
    "uniform",
    "uniform_of",
]


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11, _S12, _ONE = (np.uint64(n) for n in (30, 27, 31, 11, 12, 1))
_S40, _S16 = np.uint64(40), np.uint64(16)
_TO_UNIT = 2.0**-53
_TABLE_CELLS = 1024
CELL_SHIFT = 46  # leaves the exponent and six bits of the mantissa: 64 cells in each halving of the tail
FIRST_CELL = int(np.float64(2.0**-40).view(np.int64)) >> CELL_SHIFT
LONGEST_SEARCH = 100  # a count this far above a mean below SEARCH_MEAN has no chance that a double could hold
_RECIPROCAL = 1.0 / np.maximum(np.arange(LONGEST_SEARCH + 1), 1)
SEARCH_MEAN = 6.0  # below this a count is searched from zero upwards


def _tail_cells() -> tuple[Floats, Floats]:
    """Straight lines through the upper tail of the normal distribution, on cells that halve towards zero."""
    last = int(np.float64(0.5).view(np.int64)) >> CELL_SHIFT
    edges = (np.arange(FIRST_CELL, last + 1, dtype=np.int64) << CELL_SHIFT).view(np.float64)
    z = -special.ndtri(edges)
    slope = np.diff(z) / np.diff(edges)
    return z[:-1] - slope * edges[:-1], slope


TAIL_START, TAIL_SLOPE = _tail_cells()


@inlined
def scramble(word: np.uint64) -> np.uint64:
    """Finaliser of SplitMix64: every input bit moves every output bit."""
    word = (word ^ (word >> _S30)) * _MIX_A
    word = (word ^ (word >> _S27)) * _MIX_B
    return word ^ (word >> _S31)


@compiled
def keys_of(seeds: Uints) -> Uints:
    """One key a seed, well mixed even where seeds are consecutive numbers; the start of all its streams."""
    keys = np.empty(len(seeds), np.uint64)
    for n in range(len(seeds)):
        keys[n] = scramble(seeds[n] + _GOLDEN)
    return keys


@inlined
def keyed(key: np.uint64, stream: int, hour: int, segment: int) -> np.uint64:
    """Start of the number stream that belongs to one campaign's key, purpose, hour and segment."""
    return scramble(key ^ (stream_start(stream) + counter(hour, segment)))


@inlined
def stream_start(stream: int) -> np.uint64:
    """What a stream adds to the counters of its draws."""
    return (np.uint64(stream) << _S40) * _GOLDEN


@inlined
def counter(hour: int, segment: int) -> np.uint64:
    """Number of an hour and segment."""
    return ((np.uint64(hour) << _S16) | np.uint64(segment)) * _GOLDEN


@inlined
def advance(state: np.uint64) -> np.uint64:
    """Next state of a stream."""
    return state + _GOLDEN


@inlined
def uniform(state: np.uint64) -> float:
    """A number strictly between 0 and 1."""
    return uniform_of(scramble(state))


@inlined
def uniform_of(word: np.uint64) -> float:
    """The upper 53 bits of a random word as a number strictly between 0 and 1."""
    return (float(word >> _S11) + 0.5) * _TO_UNIT


@inlined
def normal(state: np.uint64) -> float:
    """A standard normal number by inversion, one bit for the sign and 52 for the tail probability."""
    word = scramble(state)
    tail = (float(word >> _S12) + 0.5) * _TO_UNIT
    cell = max(int(np.float64(tail).view(np.int64) >> CELL_SHIFT) - FIRST_CELL, 0)
    z = TAIL_START[cell] + TAIL_SLOPE[cell] * tail
    return float(z) if word & _ONE else float(-z)


def gamma_table(variance: float) -> Floats:
    """Doubles of a gamma variable with mean 1, for `quantile`; the outermost cells end at 1e-5 and 1 - 1e-5."""
    levels = np.clip(np.arange(_TABLE_CELLS + 1) / _TABLE_CELLS, 1e-5, 1 - 1e-5)
    return np.asarray(special.gammaincinv(1 / variance, levels) * variance)


@inlined
def quantile(table: Floats, state: np.uint64) -> float:
    """A draw from a distribution given by its quantile table."""
    position = uniform(state) * _TABLE_CELLS
    index = int(position)
    return float(table[index] + (position - index) * (table[index + 1] - table[index]))


@inlined
def corrected(z: float, mean: float, second: float, third: float, fourth: float) -> float:
    """A whole number with these cumulants from a normal one: Cornish-Fisher to third order, Sheppard's correction.

    Against the exact binomial and Poisson distributions the total variation is below 7e-4 where this is used.
    """
    variance = second - 1.0 / 12.0
    scale = math.sqrt(variance)
    inverse = 1.0 / scale
    skew = third * inverse * inverse * inverse
    excess = (fourth + 1.0 / 120.0) * (inverse * inverse) * (inverse * inverse)
    square = z * z
    bent = skew * (square - 1.0) * (1.0 / 6.0)
    bent += z * ((square - 3.0) * excess * (1.0 / 24.0) - skew * skew * (2.0 * square - 5.0) * (1.0 / 36.0))
    return float(np.floor(mean + scale * (z + bent) + 0.5))


@compiled
def poisson(mean: float, state: np.uint64) -> int:
    """A Poisson count."""
    if mean >= SEARCH_MEAN:
        return int(max(corrected(normal(state), mean, mean, mean, mean), 0.0))
    if mean <= 0.0:
        return 0
    u = uniform(state)
    k = 0
    term = math.exp(-mean)
    while u > term and k < LONGEST_SEARCH:
        u -= term
        k += 1
        term *= mean * _RECIPROCAL[k]
    return k


@compiled
def binomial(trials: int, chance: float, state: np.uint64) -> int:
    """A binomial count."""
    if trials <= 0 or chance <= 0.0:
        return 0
    if chance >= 1.0:
        return trials
    variance = trials * chance * (1.0 - chance)
    if variance >= SEARCH_MEAN:
        third = variance * (1.0 - 2.0 * chance)
        fourth = variance * (1.0 - 6.0 * chance * (1.0 - chance))
        return int(min(max(corrected(normal(state), trials * chance, variance, third, fourth), 0.0), float(trials)))
    if chance <= 0.5:
        return _binomial_search(trials, chance, state)
    return trials - _binomial_search(trials, 1.0 - chance, state)


@compiled
def _binomial_search(trials: int, p: float, state: np.uint64) -> int:
    u = uniform(state)
    if u <= 1.0 - trials * p:  # never more than the chance of no success, and most draws end here
        return 0
    odds = p / (1.0 - p)
    term = math.exp(trials * _log_one_minus(p))
    k = 0
    longest = min(trials, LONGEST_SEARCH)
    while u > term and k < longest:
        u -= term
        k += 1
        term *= odds * (trials - k + 1) * _RECIPROCAL[k]
    return k


@inlined
def _log_one_minus(p: float) -> float:
    return math.log(1.0 - p) if p > 0.05 else log_one_minus_small(p)


@inlined
def log_one_minus_small(p: float) -> float:
    """Log of 1 - p; a few terms of the series do for the small rates of clicks."""
    return -p * (1.0 + p * (0.5 + p * (1.0 / 3.0 + p * (0.25 + p * 0.2))))
