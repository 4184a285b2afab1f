"""The named date ranges of GAQL (DURING LAST_7_DAYS ...), by the account's own calendar."""

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from types import MappingProxyType

__all__ = ["DATE_RANGES", "named_range"]

_Range = tuple[date, date]


def _last_days(days: int) -> Callable[[date], _Range]:
    """The days before today."""
    return lambda today: (today - timedelta(days=days), today - timedelta(days=1))


def _this_week(first_weekday: int) -> Callable[[date], _Range]:
    return lambda today: (today - timedelta(days=(today.weekday() - first_weekday) % 7), today)


def _last_week(first_weekday: int) -> Callable[[date], _Range]:
    def days(today: date) -> _Range:
        start = today - timedelta(days=(today.weekday() - first_weekday) % 7 + 7)
        return start, start + timedelta(days=6)

    return days


def _last_business_week(today: date) -> _Range:
    monday, _ = _last_week(0)(today)
    return monday, monday + timedelta(days=4)


def _last_month(today: date) -> _Range:
    last = today.replace(day=1) - timedelta(days=1)
    return last.replace(day=1), last


DATE_RANGES: Mapping[str, Callable[[date], _Range]] = MappingProxyType(
    {
        "TODAY": lambda today: (today, today),
        "YESTERDAY": _last_days(1),
        "LAST_7_DAYS": _last_days(7),
        "LAST_14_DAYS": _last_days(14),
        "LAST_30_DAYS": _last_days(30),
        "LAST_BUSINESS_WEEK": _last_business_week,
        "THIS_MONTH": lambda today: (today.replace(day=1), today),
        "LAST_MONTH": _last_month,
        "THIS_WEEK_SUN_TODAY": _this_week(6),
        "THIS_WEEK_MON_TODAY": _this_week(0),
        "LAST_WEEK_SUN_SAT": _last_week(6),
        "LAST_WEEK_MON_SUN": _last_week(0),
    }
)


def named_range(name: str, today: date) -> _Range | None:
    """First and last day of a named range, both included; None if GAQL has no such name."""
    days = DATE_RANGES.get(name.upper())
    return None if days is None else days(today)
