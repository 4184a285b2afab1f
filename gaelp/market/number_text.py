"""Numbers as people read them: a few digits, and rounding errors as 0."""

from gaelp.checks.number_text import counted

__all__ = ["counted", "short_number"]

_ZERO_BELOW = 1e-9  # smaller figures of a market are rounding errors


def short_number(value: float, digits: int = 4) -> str:
    """The number with so many significant digits."""
    return "0" if abs(value) < _ZERO_BELOW else f"{value:.{digits}g}"
