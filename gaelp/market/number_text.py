"""Numbers as people read them: a few digits, and rounding errors as 0."""

__all__ = ["counted", "short_number"]

_ZERO_BELOW = 1e-9  # smaller figures of a market are rounding errors


def short_number(value: float, digits: int = 4) -> str:
    """The number with so many significant digits."""
    return "0" if abs(value) < _ZERO_BELOW else f"{value:.{digits}g}"


def counted(number: int, noun: str) -> str:
    """The number with its noun, such as 1 hour or 2,000 hours."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
