"""The days that the date conditions of a query allow, so that only their rows are read."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from types import MappingProxyType

from gaelp.sandbox.google.date_ranges import named_range
from gaelp.sandbox.google.gaql_fields import GaqlField, query_refusal
from gaelp.sandbox.google.gaql_parser import GaqlCondition

__all__ = ["DateWindow", "window_of"]


@dataclass(frozen=True, slots=True)
class DateWindow:
    """First and last day, both included; `date.min` and `date.max` where there is no limit."""

    first: date = date.min
    last: date = date.max

    @property
    def is_finite(self) -> bool:
        """Whether both ends are given."""
        return self.first != date.min and self.last != date.max

    def overlap(self, other: "DateWindow") -> "DateWindow":
        """The days in both."""
        return DateWindow(max(self.first, other.first), min(self.last, other.last))


def _month_end(day: date, months: int) -> date:
    index = day.year * 12 + day.month - 1 + months
    return date(index // 12, index % 12 + 1, 1) - timedelta(days=1)


# The last day of the period whose first day a value of the segment is.
_LAST_DAYS: Mapping[str, Callable[[date], date]] = MappingProxyType(
    {
        "segments.date": lambda day: day,
        "segments.week": lambda day: day + timedelta(days=6),
        "segments.month": lambda day: _month_end(day, 1),
        "segments.quarter": lambda day: _month_end(day, 3),
        "segments.year": lambda day: date(day.year, 12, 31),
        "change_event.change_date_time": lambda day: day,
    }
)


def window_of(conditions: Iterable[tuple[GaqlField, GaqlCondition]], today: date) -> DateWindow:
    """What all date conditions together allow."""
    window = DateWindow()
    for field, condition in conditions:
        last_day = _LAST_DAYS.get(field.path)
        if last_day is not None:
            window = window.overlap(_allowed(condition, field.path, last_day, today))
    return window


def _allowed(condition: GaqlCondition, path: str, last_day: Callable[[date], date], today: date) -> DateWindow:
    if condition.operator == "DURING":
        named = named_range(condition.values[0], today)
        return DateWindow(*named) if named is not None else DateWindow()
    if condition.operator not in {"=", "IN", "BETWEEN", ">", ">=", "<", "<="}:
        return DateWindow()
    days = [_day(text, path) for text in condition.values]
    if condition.operator in {">", ">="}:
        return DateWindow(first=days[0])
    if condition.operator in {"<", "<="}:
        return DateWindow(last=last_day(days[0]))
    return DateWindow(min(days), last_day(max(days)))


def _day(text: str, path: str) -> date:
    try:
        return date(int(text), 1, 1) if path == "segments.year" else date.fromisoformat(text[:10])
    except ValueError:
        message = f"invalid date '{text}' for '{path}'."
        raise query_refusal("INVALID_DATE_FORMAT", message, text) from None
