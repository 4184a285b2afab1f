"""A figure as text for people: six significant digits, no exponent where it can be avoided, no rounding noise."""

import math
from decimal import Decimal

__all__ = ["counted", "number_text"]

_NOISE_BELOW = 1e-9  # differences of equal floats end up around 1e-17
_WHOLE_FROM = 1e6  # six significant digits leave no decimals
_WRITTEN_OUT_BELOW = 1e15  # beyond it a float no longer holds every whole number


def counted(number: int, noun: str) -> str:
    """The number with its noun, such as 1 hour or 2,000 hours."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def number_text(value: float) -> str:
    """Format a figure: -7.05305e-19 is 0, 1e-05 is 0.00001, whole numbers keep all their digits."""
    if math.isnan(value):
        return "NaN"
    if abs(value) < _NOISE_BELOW:
        return "0"
    if abs(value) >= _WRITTEN_OUT_BELOW:
        return f"{value:.6g}"
    if float(value).is_integer() or abs(value) >= _WHOLE_FROM:
        return f"{value:.0f}"
    return f"{Decimal(f'{value:.6g}'):f}"
