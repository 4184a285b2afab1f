"""Exponential and logarithm for rows: good to the last bit or two, and free of calls, so that loops vectorise."""

import math

import numpy as np

from gaelp.market.compiled import inlined

__all__ = ["exp", "log"]

_LARGEST = 700.0  # beyond, a double overflows or loses bits; no logarithm in a market comes near
_PER_LOG2 = 1.0 / math.log(2.0)
_LOG2_HIGH, _LOG2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # their sum is log 2 to 1e-26
_ROUNDER = 1.5 * 2.0**52  # adding it leaves a whole number in the lowest bits
_MANTISSA_BITS, _BIAS = np.uint64(52), np.uint64(1023 << 52)
_C = tuple(1.0 / math.factorial(n) for n in range(14))
_ODD = tuple(2.0 / (2 * n + 1) for n in range(11))
_ROOT_HALF_BITS = np.uint64(np.float64(math.sqrt(0.5)).view(np.uint64))
_MANTISSA = np.uint64((1 << 52) - 1)
_WHOLE_BITS, _WHOLE = np.uint64(0x4330000000000000), 2.0**52


@inlined
def exp(x: float) -> float:
    """e to the x: two to a whole number, times the series of what is left, which is at most half of log 2."""
    x = min(max(x, -_LARGEST), _LARGEST)
    shifted = x * _PER_LOG2 + _ROUNDER
    whole = shifted - _ROUNDER
    r = (x - whole * _LOG2_HIGH) - whole * _LOG2_LOW
    tail = _C[13]
    tail = tail * r + _C[12]
    tail = tail * r + _C[11]
    tail = tail * r + _C[10]
    tail = tail * r + _C[9]
    tail = tail * r + _C[8]
    tail = tail * r + _C[7]
    tail = tail * r + _C[6]
    tail = tail * r + _C[5]
    tail = tail * r + _C[4]
    tail = tail * r + _C[3]
    tail = tail * r + _C[2]
    power = np.uint64((np.float64(shifted).view(np.uint64) << _MANTISSA_BITS) + _BIAS).view(np.float64)
    return (1.0 + (r + r * r * tail)) * power


@inlined
def log(x: float) -> float:
    """Natural logarithm of a number from 1 on: of its power of two, plus a series in (m - 1) / (m + 1) for the rest."""
    above = np.float64(x).view(np.uint64) - _ROOT_HALF_BITS
    power = np.uint64((above >> _MANTISSA_BITS) | _WHOLE_BITS).view(np.float64) - _WHOLE
    m = np.uint64((above & _MANTISSA) + _ROOT_HALF_BITS).view(np.float64)  # from the root of a half to that of two
    r = (m - 1.0) / (m + 1.0)
    square = r * r
    series = _ODD[10]
    series = series * square + _ODD[9]
    series = series * square + _ODD[8]
    series = series * square + _ODD[7]
    series = series * square + _ODD[6]
    series = series * square + _ODD[5]
    series = series * square + _ODD[4]
    series = series * square + _ODD[3]
    series = series * square + _ODD[2]
    series = series * square + _ODD[1]
    series = series * square + _ODD[0]
    return power * _LOG2_HIGH + (r * series + power * _LOG2_LOW)
