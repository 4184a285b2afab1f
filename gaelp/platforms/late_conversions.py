"""Count a conversion in the hour in which it was first reported, although the platform books it on its click.

A platform adds late conversions to the hours of their clicks, days back. Rules that ask whether the money of the last
hours brings anything must see them when they become known, each once.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from pydantic import AwareDatetime, NonNegativeInt

from gaelp.config.base import Frozen

__all__ = ["HourConversions", "by_report_time"]


class HourConversions(Frozen):
    """The conversions of an hour: those of its clicks by the last report, and those that were reported in it."""

    start: AwareDatetime
    of_clicks: NonNegativeInt
    reported: NonNegativeInt


def by_report_time(
    before: Iterable[HourConversions],
    of_clicks: Mapping[datetime, int],
    starts: Sequence[datetime],
    counted_until: datetime,
) -> dict[datetime, HourConversions]:
    """The conversions of each hour of `starts` (in order), given the conversions `of_clicks` by the newest report.

    `before` is the result of the report before, which had the hours before `counted_until`. What a report adds to
    these is counted in the last hour; what it takes away leaves the last hours that have any.
    """
    known = {hour.start: hour for hour in before}
    late, reported = 0, dict[datetime, int]()
    for start in starts:
        now = of_clicks.get(start, 0)
        if start >= counted_until:
            reported[start] = now
            continue
        past = known.get(start)
        late += now - (past.of_clicks if past else 0)
        reported[start] = past.reported if past else 0
    for start in reversed(starts):
        share = max(late, -reported[start])
        reported[start] += share
        late -= share
        if late == 0:
            break
    return {
        start: HourConversions(start=start, of_clicks=of_clicks.get(start, 0), reported=reported[start])
        for start in starts
        if of_clicks.get(start, 0) or reported[start]
    }
