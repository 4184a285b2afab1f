"""Days and hours of an account's own clock, counted in ticks: a day has 23 or 25 hours when its clocks change."""

from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from gaelp.arrays import Ints

__all__ = ["TICK_SECONDS", "AccountCalendar", "AccountDay"]

TICK_SECONDS = 60
_TICK = timedelta(seconds=TICK_SECONDS)
_HOUR_MINUTES = 60
_WEEK_DAYS = 7
_KEPT_DAYS = 64


class AccountDay(NamedTuple):
    """One day of an account; compiled loops read it."""

    ordinal: int  # of the date, as date.toordinal counts
    weekday: int  # 0 is Monday
    ticks: Ints  # when each hour begins, and at last when the day ends; before the world's start they are negative
    hours: Ints  # of the day, 0 to 23, that begin at these ticks
    month: int  # ordinal of the month's first day
    month_days: int
    week: int  # ordinal of the week's first day, a Sunday


class AccountCalendar:
    """Converts between ticks since `start` and days of the time zone."""

    def __init__(self, start: datetime, zone: ZoneInfo) -> None:
        self._start = start.astimezone(UTC)
        self._zone = zone
        self.day = lru_cache(_KEPT_DAYS)(self._day)

    def day_at(self, tick: int) -> AccountDay:
        """The day that contains this tick."""
        return self.day((self._start + tick * _TICK).astimezone(self._zone).date())

    def first_tick(self, day: date) -> int:
        """When a day begins."""
        midnight = datetime.combine(day, time(), self._zone).astimezone(UTC)
        return (midnight - self._start) // _TICK

    def _day(self, day: date) -> AccountDay:
        end = self.first_tick(day + timedelta(days=1))
        ticks, hours = [self.first_tick(day)], []
        while ticks[-1] < end:
            local = (self._start + ticks[-1] * _TICK).astimezone(self._zone)
            hours.append(local.hour)
            ticks.append(min(ticks[-1] + _HOUR_MINUTES - local.minute, end))
        month = day.replace(day=1)
        next_month = (month + timedelta(days=31)).replace(day=1)
        return AccountDay(
            ordinal=day.toordinal(),
            weekday=day.weekday(),
            ticks=np.array(ticks, np.int64),
            hours=np.array(hours, np.int64),
            month=month.toordinal(),
            month_days=(next_month - month).days,
            week=day.toordinal() - (day.weekday() + 1) % _WEEK_DAYS,
        )
