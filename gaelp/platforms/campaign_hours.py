"""A campaign's hours by the account's clock: which have ended, what the plan assigns to them; each is counted once.

Pure: the state so far and a report in, the new state out. How hours are split into reports makes no difference.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo

from pydantic import AwareDatetime

from gaelp.budget.hours import CampaignCaps, HourCounts, SpendWindow, SpendWindowState
from gaelp.budget.pacing import DayPlan, allowed_by_now_micros, planned_between_micros
from gaelp.budget.rules import RuleReading
from gaelp.budget.signals import CampaignWatch, SignalSettings, WatchState
from gaelp.clock import account_day
from gaelp.config.base import Frozen
from gaelp.errors import GaelpError
from gaelp.money import Micros
from gaelp.platforms.platform import CampaignHour

__all__ = [
    "ObservedHours",
    "Pace",
    "caught_up",
    "first_observed",
    "first_whole_hour_end",
    "hour_start",
    "mark_paused",
    "mark_running",
    "observe_each",
    "readings_of",
]

_HOUR = timedelta(hours=1)
# Hours are added without caps: caps apply when the figures are read.
_WITHOUT_CAPS = CampaignCaps(day_cap_micros=0, episode_cap_micros=0, loss_cap_micros=0, conversion_value_micros=1)


class ObservedHours(Frozen):
    """The state of a campaign; `running_since` is when it was first seen running, None while paused.

    Every hour before `taken_until` has been counted and is never counted again.
    """

    running_since: AwareDatetime | None
    taken_until: AwareDatetime
    window: SpendWindowState
    watch: WatchState


@dataclass(frozen=True, slots=True)
class Pace:
    """What an hour's spend is compared with: the plan of a day, its budget, and the account's clock."""

    plan: DayPlan
    daily_micros: Callable[[date], Micros]
    zone: tzinfo


def first_observed(at: datetime, zone: tzinfo, signals: SignalSettings) -> ObservedHours:
    """The state of a campaign first seen running now; the current hour counts, because it may have spent already."""
    watch = CampaignWatch(signals).state()
    start = hour_start(at, zone)
    return ObservedHours(running_since=at, taken_until=start, window=SpendWindowState(hours=()), watch=watch)


def mark_running(observed: ObservedHours, at: datetime) -> ObservedHours:
    """After a pause its pace starts again; earlier spend and losses still count."""
    if observed.running_since is not None:
        return observed
    window, watch = observed.window.after_pause(), observed.watch.after_pause()
    return observed.model_copy(update={"running_since": at, "window": window, "watch": watch})


def mark_paused(observed: ObservedHours) -> ObservedHours:
    """From now on empty hours do not count."""
    return observed.model_copy(update={"running_since": None})


def first_whole_hour_end(since: datetime, zone: tzinfo) -> datetime:
    """The end of the first hour that began at `since` or later."""
    start = hour_start(since, zone)
    return _hour_end(start if start == since else _hour_end(start, zone), zone)


def caught_up(
    observed: ObservedHours, hours: Iterable[CampaignHour], as_of: datetime, pace: Pace, signals: SignalSettings
) -> ObservedHours:
    """Add, in order, every hour that ended by `as_of` and was not added yet.

    An hour that is not listed was empty; while the campaign was paused, it does not count at all.
    """
    window, watch = SpendWindow(_WITHOUT_CAPS, observed.window), CampaignWatch(signals, observed.watch)
    until = observed.taken_until.astimezone(UTC)
    for _, until in observe_each(observed, hours, as_of, pace, (window, watch)):  # noqa: B007 - the last end is kept
        pass
    return observed.model_copy(update={"taken_until": until, "window": window.state(), "watch": watch.state()})


def observe_each(
    observed: ObservedHours,
    hours: Iterable[CampaignHour],
    as_of: datetime,
    pace: Pace,
    into: tuple[SpendWindow, CampaignWatch],
) -> Iterator[tuple[datetime, datetime]]:
    """Add hours as `caught_up` does, and yield start and end of each while `into` holds what was known then."""
    window, watch = into
    by_start = _by_start(hours, pace.zone)
    for start, end in _ended(observed.taken_until.astimezone(UTC), as_of, pace.zone):
        listed = by_start.get(start, [])
        if listed or _ran(observed, end):
            counts = _counts(observed, listed, start, end, pace)
            window.observe(counts, account_day(start, pace.zone), end)
            watch.observe(counts, end)
        yield start, end


def readings_of(window: SpendWindow, watch: CampaignWatch, caps: CampaignCaps) -> dict[str, RuleReading]:
    """The figures that the money rules judge, with the caps of the day that the window has reached."""
    return window.readings(caps) | watch.readings()


def hour_start(at: datetime, zone: tzinfo) -> datetime:
    """The start of an instant's hour by the account's clock, in UTC."""
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


def _ran(observed: ObservedHours, end: datetime) -> bool:
    return observed.running_since is not None and end > observed.running_since


def _by_start(hours: Iterable[CampaignHour], zone: tzinfo) -> dict[datetime, list[CampaignHour]]:
    """The listed hours by their start; an invalid hour makes the whole report unusable."""
    by_start: dict[datetime, list[CampaignHour]] = {}
    starts = set()
    for hour in hours:
        counts = (hour.cost_micros, hour.impressions, hour.clicks, hour.conversions)
        if hour.start.utcoffset() is None or any(type(count) is not int or count < 0 for count in counts):
            raise GaelpError(f"the report contains {hour}; allowed: an aware start and whole counts, 0 or more")
        start = hour.start.astimezone(UTC)
        if start in starts:
            raise GaelpError(f"the report lists the hour from {start.isoformat()} twice: fix the connector")
        starts.add(start)
        by_start.setdefault(hour_start(start, zone), []).append(hour)
    return by_start


def _counts(
    observed: ObservedHours, listed: list[CampaignHour], start: datetime, end: datetime, pace: Pace
) -> HourCounts:
    day = account_day(start, pace.zone)
    daily = pace.daily_micros(day)
    ends_day = account_day(end, pace.zone) != day
    spend = sum(hour.cost_micros for hour in listed)
    return HourCounts(
        spend_micros=spend,
        planned_micros=_planned(observed, spend, start, end, daily, pace),
        planned_left_micros=0 if ends_day else daily - allowed_by_now_micros(daily, pace.plan, end, pace.zone),
        day_planned_micros=daily,
        impressions=sum(hour.impressions for hour in listed),
        clicks=sum(hour.clicks for hour in listed),
        conversions=sum(hour.conversions for hour in listed),
    )


def _planned(
    observed: ObservedHours, spend: Micros, start: datetime, end: datetime, daily: Micros, pace: Pace
) -> Micros:
    since = start
    if not _ran(observed, end):
        if spend == 0:  # a late conversion of a paused campaign
            return 0
    elif observed.running_since is not None:
        since = max(start, observed.running_since.astimezone(UTC))
    return planned_between_micros(daily, pace.plan, since, end, pace.zone)
