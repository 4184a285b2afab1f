"""The hour rows a query needs: read once, with their segments, and found by campaign or ad group."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from gaelp.sandbox.google.account_store import AccountStore
from gaelp.sandbox.google.gaql_check import CheckedFilter
from gaelp.sandbox.google.gaql_dates import DateWindow
from gaelp.sandbox.google.report_figures import SEGMENTS
from gaelp.sandbox.google.views import EntityScope
from gaelp.sandbox.world_call import ReportRow

__all__ = ["HourRows", "SegmentedHour"]

_HOUR = timedelta(hours=1)
_SHARE_DELAY = timedelta(hours=24)  # after the end of a day until its impression share is known


@dataclass(frozen=True, slots=True)
class SegmentedHour:
    """One hour of an ad group on a device, with the values of its segments."""

    report: ReportRow
    segments: dict[str, Any]
    share_is_known: bool


class HourRows:
    """The rows of one account that fulfil the conditions on segments."""

    def __init__(
        self, store: AccountStore, window: DateWindow, filters: Sequence[CheckedFilter], first_day: date
    ) -> None:
        self._store = store
        self._filters = [(item.field.steps[0], item.holds) for item in filters if item.field.resource == "segments"]
        self._hours: dict[tuple[datetime, str], tuple[dict[str, Any], bool] | None] = {}
        first, last = max(window.first, first_day), min(window.last, store.now.date())
        rows = store.call.report(store.account, first, last, self._wanted(first, last)) if first <= last else ()
        self._all = [row for row in map(self._hour_row, rows) if row is not None]
        self._by_campaign: dict[int, list[SegmentedHour]] = defaultdict(list)
        self._by_group: dict[int, list[SegmentedHour]] = defaultdict(list)
        for row in self._all:
            self._by_campaign[row.report.campaign].append(row)
            self._by_group[row.report.group].append(row)

    def _wanted(self, first: date, last: date) -> tuple[datetime, datetime] | None:
        """From the first to the last hour of these days that a condition on the hour leaves; None without one."""
        of_hour = [holds for name, holds in self._filters if name == "hour"]
        if not of_hour:
            return None
        start, end = (
            datetime.combine(day, time(), self._store.zone).astimezone(UTC) for day in (first, last + timedelta(days=1))
        )
        wanted = [
            at
            for at in (start + n * _HOUR for n in range((end - start) // _HOUR))
            if all(holds(at.astimezone(self._store.zone).hour) for holds in of_hour)
        ]
        return (wanted[0], wanted[-1] + _HOUR) if wanted else (start, start)

    def _hour_row(self, row: ReportRow) -> SegmentedHour | None:
        """The row with its segments; None if these do not fulfil the conditions."""
        key = (row.start, row.device)
        if key not in self._hours:  # an hour has a row for every ad group
            self._hours[key] = self._segmented(row)
        segmented = self._hours[key]
        return None if segmented is None else SegmentedHour(row, *segmented)

    def _segmented(self, row: ReportRow) -> tuple[dict[str, Any], bool] | None:
        hour = row.start.astimezone(self._store.zone)
        segments = {name: value(hour, row.device) for name, value in SEGMENTS.items()}
        if not all(holds(segments[name]) for name, holds in self._filters):
            return None
        end_of_day = datetime.combine(hour.date() + timedelta(days=1), time(), self._store.zone)
        return segments, end_of_day + _SHARE_DELAY <= self._store.now

    def of(self, scope: EntityScope) -> Iterable[SegmentedHour]:
        """The rows that belong to a row of a view."""
        if scope.group is not None:
            return self._by_group.get(scope.group, ())
        if scope.campaigns is None:
            return self._all
        return (row for campaign in sorted(scope.campaigns) for row in self._by_campaign.get(campaign, ()))
