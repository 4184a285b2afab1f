"""Where time comes from: a clock that is passed in, and the day it is for an ad account."""

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Protocol
from zoneinfo import ZoneInfo

from gaelp.errors import BadInput

__all__ = ["Clock", "ManualClock", "SystemClock", "account_day", "day_start"]


class Clock(Protocol):
    """A source of the present instant."""

    def now(self) -> datetime:
        """Return the present instant, aware and in UTC."""
        ...


class SystemClock:
    """The computer's own clock."""

    def now(self) -> datetime:
        """Return the present instant in UTC."""
        return datetime.now(UTC)


class ManualClock:
    """A clock that moves only when it is advanced, for tests and replays."""

    def __init__(self, start: datetime) -> None:
        self._now = _require_aware(start).astimezone(UTC)

    def now(self) -> datetime:
        """Return the instant this clock was started at or advanced to, in UTC."""
        return self._now

    def advance(self, duration: timedelta) -> datetime:
        """Move forward by `duration` and return the new instant."""
        if duration < timedelta(0):
            raise BadInput(f"cannot advance a clock by {duration}: give zero or more, or start another clock")
        self._now += duration
        return self._now


def account_day(instant: datetime, zone: tzinfo | str) -> date:
    """Return the calendar day of `instant` in the ad account's time zone (an IANA name, or the zone itself).

    Budgets are per day of the account, which has 23 or 25 hours when its clocks change.
    """
    return _require_aware(instant).astimezone(_zone_named(zone) if isinstance(zone, str) else zone).date()


def day_start(day: date, zone: str) -> datetime:
    """Return the instant in UTC at which a day of the ad account begins."""
    return datetime.combine(day, time(), _zone_named(zone)).astimezone(UTC)


def _zone_named(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError) as error:
        raise BadInput(f"{name!r} is not a time zone: give an IANA name such as 'Europe/Berlin' or 'UTC'") from error


def _require_aware(instant: datetime) -> datetime:
    if instant.utcoffset() is None:
        raise BadInput(f"{instant.isoformat()} has no time zone: give an aware datetime, such as clock.now() returns")
    return instant
