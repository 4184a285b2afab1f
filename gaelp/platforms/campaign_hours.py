"""A campaign's hours by the account's clock: which of them have ended, what the plan gave them, each taken in once.

Pure: what was seen so far and a report in, what is seen then out. However the hours are split into reports, they lead
to the same state.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo

from pydantic import AwareDatetime

from gaelp.budget.hours import CampaignCaps, HourCounts, SpendWindow, SpendWindowState
from gaelp.budget.pacing import DayPlan, allowed_by_now_micros, planned_between_micros
from gaelp.budget.signals import CampaignWatch, SignalSettings, WatchState
from gaelp.clock import account_day
from gaelp.config.base import Frozen
from gaelp.errors import GaelpError
from gaelp.money import Micros
from gaelp.platforms.platform import CampaignHour

__all__ = [
    "HoursSeen",
    "Pace",
    "caught_up",
    "first_seen",
    "first_whole_hour_end",
    "hour_start",
    "seen_paused",
    "seen_running",
]

_HOUR = timedelta(hours=1)
# Hours are taken in without caps: those count when the figures are read.
_WITHOUT_CAPS = CampaignCaps(day_cap_micros=0, episode_cap_micros=0, loss_cap_micros=0, conversion_value_micros=1)


class HoursSeen(Frozen):
    """What is remembered of one campaign; `running_since` is when it was first seen running, nothing while paused.

    Every hour before `taken_until` has been dealt with and is never looked at again.
    """

    running_since: AwareDatetime | None
    taken_until: AwareDatetime
    window: SpendWindowState
    watch: WatchState


@dataclass(frozen=True, slots=True)
class Pace:
    """What the money of an hour is compared with: a plan for each day, its budget, and the account's clock."""

    plan: DayPlan
    daily_micros: Callable[[date], Micros]
    zone: tzinfo


def first_seen(at: datetime, zone: tzinfo, signals: SignalSettings) -> HoursSeen:
    """A campaign that was never seen running before; the hour it was seen in counts, for money may be gone in it."""
    watch = CampaignWatch(signals).state()
    start = hour_start(at, zone)
    return HoursSeen(running_since=at, taken_until=start, window=SpendWindowState(hours=()), watch=watch)


def seen_running(seen: HoursSeen, at: datetime) -> HoursSeen:
    """After a pause its hours begin anew; what it has spent and lost before still counts."""
    if seen.running_since is not None:
        return seen
    return seen.model_copy(update={"running_since": at, "window": seen.window.anew(), "watch": seen.watch.anew()})


def seen_paused(seen: HoursSeen) -> HoursSeen:
    """From now on an hour without anything in it says nothing."""
    return seen.model_copy(update={"running_since": None})


def first_whole_hour_end(since: datetime, zone: tzinfo) -> datetime:
    """When the first hour that began at `since` or later has ended."""
    start = hour_start(since, zone)
    return _hour_end(start if start == since else _hour_end(start, zone), zone)


def caught_up(
    seen: HoursSeen, hours: Iterable[CampaignHour], as_of: datetime, pace: Pace, signals: SignalSettings
) -> HoursSeen:
    """Take in, in order, every hour that has ended by `as_of` and was not taken in yet.

    An hour that is not listed had nothing, unless the campaign stood still: then it is no hour of the campaign.
    """
    by_start = _by_start(hours, pace.zone)
    window, watch = SpendWindow(_WITHOUT_CAPS, seen.window), CampaignWatch(signals, seen.watch)
    until = seen.taken_until.astimezone(UTC)
    for start, end in _ended(until, as_of, pace.zone):
        listed = by_start.get(start, [])
        if listed or _ran(seen, end):
            counts = _counts(seen, listed, start, end, pace)
            window.observe(counts, account_day(start, pace.zone), end)
            watch.observe(counts, end)
        until = end
    return seen.model_copy(update={"taken_until": until, "window": window.state(), "watch": watch.state()})


def hour_start(at: datetime, zone: tzinfo) -> datetime:
    """When the hour around an instant began by the account's clock, in UTC."""
    return at.astimezone(UTC) - _into_hour(at, zone)


def _hour_end(at: datetime, zone: tzinfo) -> datetime:
    return at.astimezone(UTC) + _HOUR - _into_hour(at, zone)


def _into_hour(at: datetime, zone: tzinfo) -> timedelta:
    local = at.astimezone(zone)
    return timedelta(minutes=local.minute, seconds=local.second, microseconds=local.microsecond)


def _ended(since: datetime, until: datetime, zone: tzinfo) -> Iterator[tuple[datetime, datetime]]:
    start = since
    while (end := _hour_end(start, zone)) <= until:
        yield start, end
        start = end


def _ran(seen: HoursSeen, end: datetime) -> bool:
    return seen.running_since is not None and end > seen.running_since


def _by_start(hours: Iterable[CampaignHour], zone: tzinfo) -> dict[datetime, list[CampaignHour]]:
    """The listed hours by when they began; what cannot be an hour of a campaign leaves all of it in doubt."""
    by_start: dict[datetime, list[CampaignHour]] = {}
    starts = set()
    for hour in hours:
        counts = (hour.cost_micros, hour.impressions, hour.clicks, hour.conversions)
        if hour.start.utcoffset() is None or any(type(count) is not int or count < 0 for count in counts):
            raise GaelpError(f"the report holds {hour}: allowed are an aware start and whole counts, 0 or more")
        start = hour.start.astimezone(UTC)
        if start in starts:
            raise GaelpError(f"the report holds the hour from {start.isoformat()} twice: mend the connector")
        starts.add(start)
        by_start.setdefault(hour_start(start, zone), []).append(hour)
    return by_start


def _counts(seen: HoursSeen, listed: list[CampaignHour], start: datetime, end: datetime, pace: Pace) -> HourCounts:
    day = account_day(start, pace.zone)
    daily = pace.daily_micros(day)
    ends_day = account_day(end, pace.zone) != day
    spend = sum(hour.cost_micros for hour in listed)
    return HourCounts(
        spend_micros=spend,
        planned_micros=_planned(seen, spend, start, end, daily, pace),
        planned_left_micros=0 if ends_day else daily - allowed_by_now_micros(daily, pace.plan, end, pace.zone),
        day_planned_micros=daily,
        impressions=sum(hour.impressions for hour in listed),
        clicks=sum(hour.clicks for hour in listed),
        conversions=sum(hour.conversions for hour in listed),
    )


def _planned(seen: HoursSeen, spend: Micros, start: datetime, end: datetime, daily: Micros, pace: Pace) -> Micros:
    since = start
    if not _ran(seen, end):
        if spend == 0:  # a late conversion of a campaign that stands still
            return 0
    elif seen.running_since is not None:
        since = max(start, seen.running_since.astimezone(UTC))
    return planned_between_micros(daily, pace.plan, since, end, pace.zone)
