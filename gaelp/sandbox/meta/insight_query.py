"""The question of an insights request: days, level, breakdowns, filters and metrics, from its parameters."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta, tzinfo
from typing import Any

from gaelp.sandbox.meta import parameter_readers as read
from gaelp.sandbox.meta.field_selection import parse_fields
from gaelp.sandbox.meta.graph_error import GraphError, unsupported

__all__ = ["BREAKDOWNS", "DEVICE", "HOUR", "LEVELS", "InsightQuery", "read_insight_query"]

LEVELS = ("account", "campaign", "adset", "ad")
HOUR = "hourly_stats_aggregated_by_advertiser_time_zone"
DEVICE = "device_platform"
BREAKDOWNS = (HOUR, DEVICE)
# They do not change the answer: a conversion always counts on the day of its click.
_IGNORED = frozenset({
    "fields", "limit", "after", "before", "summary", "default_summary", "use_account_attribution_setting",
    "use_unified_attribution_setting", "action_report_time", "date_format", "locale", "include_headers",
})  # fmt: skip
_READ = frozenset({
    "level", "breakdowns", "time_range", "time_ranges", "date_preset", "time_increment", "filtering", "sort",
})  # fmt: skip
_MOST_DAYS = 37 * 31
_DEFAULT_FIELDS = "account_id,date_start,date_stop,impressions,spend"


@dataclass(frozen=True, slots=True)
class InsightQuery:
    """What is asked; each window is first and last day, both included."""

    level: str
    fields: tuple[str, ...]
    breakdowns: tuple[str, ...]
    windows: tuple[tuple[date, date], ...]
    filters: tuple[Mapping[str, Any], ...]
    sort: tuple[str, bool] | None  # metric, and whether the largest comes first


def read_insight_query(parameters: Mapping[str, str], level: str, today: date, zone: tzinfo) -> InsightQuery:
    """Read the parameters of a request on an object of this level."""
    if unknown := sorted(parameters.keys() - _IGNORED - _READ):
        raise unsupported(f"Param {unknown[0]} of insights", ", ".join(sorted(_READ)))
    asked = read.choice(*LEVELS)("level", parameters.get("level", level), zone)
    if LEVELS.index(asked) < LEVELS.index(level):
        raise GraphError(f"level={asked} is above the object, which is of level {level}; ask its parent", blame="level")
    return InsightQuery(
        level=asked,
        fields=tuple(field.name for field in parse_fields(parameters.get("fields") or _DEFAULT_FIELDS)),
        breakdowns=tuple(read.listed(*BREAKDOWNS)("breakdowns", parameters.get("breakdowns", ""), zone)),
        windows=_windows(parameters, today, zone),
        filters=tuple(read.objects("filtering", parameters.get("filtering", "[]"), zone)),
        sort=_sort(parameters, zone),
    )


def _sort(parameters: Mapping[str, str], zone: tzinfo) -> tuple[str, bool] | None:
    keys = read.listed()("sort", parameters.get("sort", ""), zone)
    if not keys:
        return None
    if len(keys) > 1:
        raise unsupported("sort by several fields", "one, such as spend_descending")
    name, _, order = keys[0].rpartition("_")
    if order not in ("ascending", "descending"):
        raise GraphError(f"sort={keys[0]!r} has no order; write spend_descending or spend_ascending", blame="sort")
    return name, order == "descending"


def _windows(parameters: Mapping[str, str], today: date, zone: tzinfo) -> tuple[tuple[date, date], ...]:
    if "time_ranges" in parameters:
        return tuple(_range(item) for item in read.objects("time_ranges", parameters["time_ranges"], zone))
    if "time_range" in parameters:
        first, last = _range(read.mapping("time_range", parameters["time_range"], zone))
    else:
        first, last = _preset(parameters.get("date_preset", "last_30d"), today)
    return _increments(first, last, parameters.get("time_increment", "all_days"))


def _range(value: Mapping[str, Any]) -> tuple[date, date]:
    try:
        first, last = date.fromisoformat(value["since"]), date.fromisoformat(value["until"])
    except (KeyError, TypeError, ValueError):
        raise GraphError(
            f'time_range must look like {{"since": "2026-11-01", "until": "2026-11-07"}}; got {value!r}',
            blame="time_range",
        ) from None
    if first > last or (last - first).days > _MOST_DAYS:
        raise GraphError(f"time_range is {first} to {last}; allowed: forwards, and up to 37 months", blame="time_range")
    return first, last


def _preset(name: str, today: date) -> tuple[date, date]:
    """`last_7d` ends yesterday; weeks begin on the day in their name."""
    yesterday, month = today - timedelta(days=1), today.replace(day=1)
    sunday = today - timedelta(days=(today.weekday() + 1) % 7)
    monday = today - timedelta(days=today.weekday())
    spans = {
        "today": (today, today),
        "yesterday": (yesterday, yesterday),
        "this_month": (month, today),
        "last_month": ((month - timedelta(days=1)).replace(day=1), month - timedelta(days=1)),
        "this_week_sun_today": (sunday, today),
        "this_week_mon_today": (monday, today),
        "last_week_sun_sat": (sunday - timedelta(days=7), sunday - timedelta(days=1)),
        "last_week_mon_sun": (monday - timedelta(days=7), monday - timedelta(days=1)),
        "maximum": (today - timedelta(days=_MOST_DAYS), today),
        **{f"last_{days}d": (today - timedelta(days=days), yesterday) for days in (3, 7, 14, 28, 30, 90)},
    }
    if name not in spans:
        raise unsupported(f"date_preset={name}", ", ".join(spans))
    return spans[name]


def _increments(first: date, last: date, increment: str) -> tuple[tuple[date, date], ...]:
    if increment == "all_days":
        return ((first, last),)
    if increment == "monthly":
        return tuple(_months(first, last))
    if not increment.isdigit() or not 1 <= int(increment) <= 90:
        raise GraphError(
            f"time_increment must be 1 to 90, monthly or all_days; got {increment!r}", blame="time_increment"
        )
    step = timedelta(days=int(increment))
    starts = [first + step * number for number in range((last - first) // step + 1)]
    return tuple((start, min(start + step - timedelta(days=1), last)) for start in starts)


def _months(first: date, last: date) -> list[tuple[date, date]]:
    windows, start = [], first
    while start <= last:
        following = (start.replace(day=1) + timedelta(days=32)).replace(day=1)
        windows.append((start, min(following - timedelta(days=1), last)))
        start = following
    return windows
