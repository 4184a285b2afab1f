"""Segments and metrics of GAQL: what can be selected, and how each is computed from the sandbox's hour rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from types import MappingProxyType
from typing import Any

from gaelp.sandbox.world_call import ReportRow

__all__ = ["METRICS", "NOT_BY_HOUR", "SEGMENTS", "FigureTotals", "monday_of"]

_LOWEST_SHOWN_SHARE = 0.1  # shares below it read as 0.0999
_FLOORED_SHARE = 0.0999
_WEEKDAYS = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")
_MICROS = 1_000_000


def monday_of(day: date) -> date:
    """The first day of a week in Google's reports."""
    return day - timedelta(days=day.weekday())


# The hour by the account's clock, and the device, to the value in a row; enums by name.
SEGMENTS: Mapping[str, Callable[[datetime, str], Any]] = MappingProxyType(
    {
        "date": lambda hour, _device: hour.date().isoformat(),
        "hour": lambda hour, _device: hour.hour,
        "device": lambda _hour, device: device.upper(),
        "week": lambda hour, _device: monday_of(hour.date()).isoformat(),
        "month": lambda hour, _device: hour.date().replace(day=1).isoformat(),
        "quarter": lambda hour, _device: (
            hour.date().replace(day=1, month=hour.month - (hour.month - 1) % 3).isoformat()
        ),
        "year": lambda hour, _device: hour.year,
        "day_of_week": lambda hour, _device: _WEEKDAYS[hour.weekday()],
        "month_of_year": lambda hour, _device: hour.strftime("%B").upper(),
        "ad_network_type": lambda _hour, _device: "SEARCH",
    }
)


@dataclass(slots=True)
class FigureTotals:
    """Sums over hour rows; those for impression share only over days for which it is known already."""

    impressions: int = 0
    clicks: int = 0
    cost_micros: int = 0
    conversions: float = 0.0
    value_micros: int = 0
    share_impressions: int = 0
    share_eligible: int = 0

    def add(self, row: ReportRow, *, share_is_known: bool, part: int = 0, parts: int = 1) -> None:
        """Add a row, or the `part`-th of so many equal parts of it; whole numbers stay whole and parts sum up."""
        if parts == 1:  # most rows
            self.impressions += row.impressions
            self.clicks += row.clicks
            self.cost_micros += row.cost_micros
            self.conversions += row.conversions
            self.value_micros += row.value_micros
        else:
            self.impressions += _part(row.impressions, part, parts)
            self.clicks += _part(row.clicks, part, parts)
            self.cost_micros += _part(row.cost_micros, part, parts)
            self.conversions += row.conversions / parts
            self.value_micros += _part(row.value_micros, part, parts)
        if share_is_known:
            self.share_impressions += row.impressions
            self.share_eligible += row.eligible

    def merge(self, other: "FigureTotals") -> None:
        """Add the sums of other rows."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to report: such rows are left out where segments are selected."""
        return not (self.impressions or self.clicks or self.cost_micros or self.conversions)


def _part(total: int, part: int, parts: int) -> int:
    return total * (part + 1) // parts - total * part // parts


def _ratio(above: float, below: float) -> float | None:
    return above / below if below else None


def _impression_share(totals: FigureTotals) -> float | None:
    share = _ratio(totals.share_impressions, totals.share_eligible)
    if share is None:
        return None
    return share if share >= _LOWEST_SHOWN_SHARE else _FLOORED_SHARE


def _value(totals: FigureTotals) -> float:
    return totals.value_micros / _MICROS


METRICS: Mapping[str, Callable[[FigureTotals], float | None]] = MappingProxyType(
    {
        "impressions": lambda totals: totals.impressions,
        "clicks": lambda totals: totals.clicks,
        "interactions": lambda totals: totals.clicks,
        "cost_micros": lambda totals: totals.cost_micros,
        "conversions": lambda totals: totals.conversions,
        "conversions_value": _value,
        "all_conversions": lambda totals: totals.conversions,
        "all_conversions_value": _value,
        "ctr": lambda totals: _ratio(totals.clicks, totals.impressions),
        "interaction_rate": lambda totals: _ratio(totals.clicks, totals.impressions),
        "average_cpc": lambda totals: _ratio(totals.cost_micros, totals.clicks),
        "average_cost": lambda totals: _ratio(totals.cost_micros, totals.clicks),
        "average_cpm": lambda totals: _ratio(totals.cost_micros * 1000, totals.impressions),
        "conversions_from_interactions_rate": lambda totals: _ratio(totals.conversions, totals.clicks),
        "cost_per_conversion": lambda totals: _ratio(totals.cost_micros, totals.conversions),
        "cost_per_all_conversions": lambda totals: _ratio(totals.cost_micros, totals.conversions),
        "value_per_conversion": lambda totals: _ratio(_value(totals), totals.conversions),
        "conversions_value_per_cost": lambda totals: _ratio(totals.value_micros, totals.cost_micros),
        "search_impression_share": _impression_share,
    }
)
NOT_BY_HOUR = frozenset({"search_impression_share"})  # these metrics cannot be selected together with segments.hour
