"""Ticks and instants: where a tick of 60 simulated seconds is in time, and which ticks a day of the account has."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from gaelp.clock import account_day
from gaelp.errors import BadInput
from gaelp.sandbox.exchange import TICK_SECONDS

__all__ = ["TICKS_PER_HOUR", "WorldCalendar"]

TICKS_PER_HOUR = 3600 // TICK_SECONDS
_TICK = timedelta(seconds=TICK_SECONDS)


@dataclass(frozen=True, slots=True)
class WorldCalendar:
    """The calendar of a world: tick 0 is at `start`, days are those of the account's time zone."""

    start: datetime
    zone: ZoneInfo

    def instant_of(self, tick: int) -> datetime:
        """When a tick begins, in UTC."""
        return self.start.astimezone(UTC) + tick * _TICK

    def tick_of(self, instant: datetime) -> int:
        """The tick that an instant is in: the last one that begins at or before it."""
        if instant.utcoffset() is None:
            raise BadInput(f"{instant.isoformat()} has no time zone: give an instant such as 2026-03-01T00:00:00Z")
        return (instant - self.start) // _TICK

    def first_tick_from(self, instant: datetime) -> int:
        """The first tick that begins at or after an instant."""
        return -self.tick_of(self.start - (instant - self.start))

    def first_tick_of(self, day: date) -> int:
        """The tick in which a day of the account begins; negative for days before the world."""
        # Midnight may be skipped or repeated where clocks change then: the earlier one is the beginning of the day.
        return self.tick_of(datetime.combine(day, time(0), self.zone).astimezone(UTC))

    def day_of(self, tick: int) -> date:
        """The day of the account that a tick is in."""
        return account_day(self.instant_of(tick), self.zone)

    def hour_tick_of(self, tick: int) -> int:
        """The tick in which the hour of the account began that a tick is in."""
        return tick - self.instant_of(tick).astimezone(self.zone).minute

    def ticks_of_days(self, first: date, last: date) -> range:
        """All ticks of these days of the account, both included."""
        return range(self.first_tick_of(first), self.first_tick_of(last + timedelta(days=1)))
