"""A campaign's hours by the account's clock: which have ended, what the plan assigns to them; each is counted once.

Pure: the state so far and a report in, the new state out. Every day that is open to revision is counted again from the
newest report. How hours are split into reports makes no difference unless a report revises them.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache

from pydantic import AwareDatetime

from gaelp.budget.hours import CampaignCaps, HourCounts, SpendWindow, SpendWindowState
from gaelp.budget.pacing import DayPlan, allowed_by_now_micros, planned_between_micros
from gaelp.budget.rules import RuleReading
from gaelp.budget.signals import CampaignWatch, SignalSettings, WatchState
from gaelp.clock import account_day
from gaelp.config.base import Frozen
from gaelp.errors import GaelpError
from gaelp.money import Micros
from gaelp.platforms.late_conversions import HourConversions, by_report_time
from gaelp.platforms.platform import CampaignHour

# All campaigns of an account have the same hours, and they are counted again with every report.
_KEPT_RESULTS = 16_384
_day_of = lru_cache(_KEPT_RESULTS)(account_day)
_allowed_by_now = lru_cache(_KEPT_RESULTS)(allowed_by_now_micros)
_planned_between = lru_cache(_KEPT_RESULTS)(planned_between_micros)

__all__ = [
    "ObservedHours",
    "Pace",
    "SettledHours",
    "StatusChange",
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


class StatusChange(Frozen):
    """A campaign was first seen running, or paused, after the hours before `taken_until` were counted."""

    taken_until: AwareDatetime
    running_since: AwareDatetime | None


class SettledHours(Frozen):
    """The state of a campaign at the start of the first day that is open to revision: it does not change any more."""

    until: AwareDatetime
    running_since: AwareDatetime | None
    window: SpendWindowState
    watch: WatchState


class ObservedHours(Frozen):
    """The state of a campaign; `running_since` is when it was first seen running, None while paused.

    Every hour from `settled.until` to `taken_until` is counted once, as the report of `as_of` has it. The next report
    counts these hours again from `settled` on; `changes` and `conversions` say what no report can tell.
    """

    running_since: AwareDatetime | None
    taken_until: AwareDatetime
    window: SpendWindowState
    watch: WatchState
    as_of: AwareDatetime | None = None  # rows from before reports were read again have neither this nor the next
    settled: SettledHours | None = None
    changes: tuple[StatusChange, ...] = ()
    conversions: tuple[HourConversions, ...] = ()

    @property
    def base(self) -> SettledHours:
        """Where the next report starts."""
        return self.settled or SettledHours(
            until=self.taken_until, running_since=self.running_since, window=self.window, watch=self.watch
        )


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
    return _changed(observed, at).model_copy(update={"window": window, "watch": watch})


def mark_paused(observed: ObservedHours) -> ObservedHours:
    """From now on empty hours do not count."""
    return observed if observed.running_since is None else _changed(observed, None)


def _changed(observed: ObservedHours, running_since: datetime | None) -> ObservedHours:
    change = StatusChange(taken_until=observed.taken_until, running_since=running_since)
    return observed.model_copy(
        update={
            "running_since": running_since,
            "settled": observed.base,
            "changes": (*observed.changes, change),
        }
    )


def first_whole_hour_end(since: datetime, zone: tzinfo) -> datetime:
    """The end of the first hour that began at `since` or later."""
    start = hour_start(since, zone)
    return _hour_end(start if start == since else _hour_end(start, zone), zone)


def caught_up(
    observed: ObservedHours,
    hours: Iterable[CampaignHour],
    as_of: datetime,
    pace: Pace,
    signals: SignalSettings,
    *,
    revised_days: int = 0,
) -> ObservedHours:
    """Count, in order, every hour that ended by `as_of` and is not settled; a report older than the last is ignored.

    An hour that is not listed was empty; while the campaign was paused, it does not count at all. A day is settled
    `revised_days` after its end.
    """
    if as_of < (observed.as_of or observed.taken_until):
        return observed
    by_start = _by_start(hours, pace.zone)
    ended = tuple(_ended(observed.base.until.astimezone(UTC), as_of, pace.zone))
    of_clicks = {start: sum(hour.conversions for hour in listed) for start, listed in by_start.items()}
    conversions = by_report_time(
        observed.conversions, of_clicks, [start for start, _ in ended], observed.taken_until.astimezone(UTC)
    )
    count = _Recount(observed, signals, open_from=_day_start(as_of - timedelta(days=revised_days), pace.zone))
    for start, end in ended:
        reported = conversions[start].reported if start in conversions else 0
        count.observe(start, end, by_start.get(start, []), reported, pace)
    return count.state(as_of, conversions.values())


class _Recount:
    """Counts the hours of a campaign again, from its settled state on."""

    def __init__(self, observed: ObservedHours, signals: SignalSettings, open_from: datetime) -> None:
        self._observed, self._signals, self._open_from = observed, signals, open_from
        self._settled = base = observed.base
        self._running_since, self._until = base.running_since, base.until.astimezone(UTC)
        self._window, self._watch = SpendWindow(_WITHOUT_CAPS, base.window), CampaignWatch(signals, base.watch)
        self._changes = deque(observed.changes)

    def observe(self, start: datetime, end: datetime, listed: list[CampaignHour], conversions: int, pace: Pace) -> None:
        """Count the next hour."""
        if self._settled.until < self._open_from <= start:
            self._settled = SettledHours(
                until=start,
                running_since=self._running_since,
                window=self._window.state(),
                watch=self._watch.state(),
            )
        while self._changes and self._changes[0].taken_until <= start:
            self._change(self._changes.popleft())
        hour = _Hour(start, end, listed, conversions, self._running_since)
        hour.add_to((self._window, self._watch), pace)
        self._until = end

    def _change(self, change: StatusChange) -> None:
        self._running_since = change.running_since
        if change.running_since is not None:
            self._window = SpendWindow(_WITHOUT_CAPS, self._window.state().after_pause())
            self._watch = CampaignWatch(self._signals, self._watch.state().after_pause())

    def state(self, as_of: datetime, conversions: Iterable[HourConversions]) -> ObservedHours:
        """The state after the last hour; what no report can tell is kept for the days open to revision."""
        for change in self._changes:
            self._change(change)
        since = self._settled.until
        return ObservedHours(
            running_since=self._running_since,
            taken_until=self._until,
            window=self._window.state(),
            watch=self._watch.state(),
            as_of=as_of,
            settled=self._settled,
            changes=tuple(change for change in self._observed.changes if change.taken_until >= since),
            conversions=tuple(hour for hour in conversions if hour.start >= since),
        )


def observe_each(
    observed: ObservedHours,
    hours: Iterable[CampaignHour],
    as_of: datetime,
    pace: Pace,
    into: tuple[SpendWindow, CampaignWatch],
) -> Iterator[tuple[datetime, datetime]]:
    """Add final hours that were not counted yet, and yield start and end of each while `into` holds what was known."""
    by_start = _by_start(hours, pace.zone)
    for start, end in _ended(observed.taken_until.astimezone(UTC), as_of, pace.zone):
        listed = by_start.get(start, [])
        conversions = sum(hour.conversions for hour in listed)
        _Hour(start, end, listed, conversions, observed.running_since).add_to(into, pace)
        yield start, end


def readings_of(window: SpendWindow, watch: CampaignWatch, caps: CampaignCaps) -> dict[str, RuleReading]:
    """The figures that the money rules judge, with the caps of the day that the window has reached."""
    return window.readings(caps) | watch.readings()


def hour_start(at: datetime, zone: tzinfo) -> datetime:
    """The start of an instant's hour by the account's clock, in UTC."""
    return _start_of_hour(at.astimezone(UTC), zone)


def _hour_end(at: datetime, zone: tzinfo) -> datetime:
    return _start_of_hour(at.astimezone(UTC), zone) + _HOUR


@lru_cache(_KEPT_RESULTS)
def _start_of_hour(at: datetime, zone: tzinfo) -> datetime:
    """Of an instant in UTC: in other zones two instants may compare as equal."""
    return at - _into_hour(at, zone)


def _into_hour(at: datetime, zone: tzinfo) -> timedelta:
    local = at.astimezone(zone)
    return timedelta(minutes=local.minute, seconds=local.second, microseconds=local.microsecond)


def _day_start(at: datetime, zone: tzinfo) -> datetime:
    return datetime.combine(account_day(at, zone), time(), zone).astimezone(UTC)


def _ended(since: datetime, until: datetime, zone: tzinfo) -> Iterator[tuple[datetime, datetime]]:
    start = since
    while (end := _hour_end(start, zone)) <= until:
        yield start, end
        start = end


def _by_start(hours: Iterable[CampaignHour], zone: tzinfo) -> dict[datetime, list[CampaignHour]]:
    """The listed hours by their start; an invalid hour makes the whole report unusable."""
    by_start: dict[datetime, list[CampaignHour]] = {}
    starts = set()
    for hour in hours:
        if hour.start.utcoffset() is None or not _are_counts(hour):
            raise GaelpError(f"the report contains {hour}; allowed: an aware start and whole counts, 0 or more")
        start = hour.start.astimezone(UTC)
        if (start, hour.target) in starts:
            of_what = f" of {hour.target}" if hour.target else ""
            raise GaelpError(f"the report lists the hour from {start.isoformat()}{of_what} twice: fix the connector")
        starts.add((start, hour.target))
        by_start.setdefault(hour_start(start, zone), []).append(hour)
    return by_start


def _are_counts(hour: CampaignHour) -> bool:
    """Whether its figures are whole numbers, 0 or more; True and 1.0 are none."""
    cost, impressions, clicks, conversions = hour.cost_micros, hour.impressions, hour.clicks, hour.conversions
    if not type(cost) is type(impressions) is type(clicks) is type(conversions) is int:
        return False
    return cost >= 0 and impressions >= 0 and clicks >= 0 and conversions >= 0


@dataclass(frozen=True, slots=True)
class _Hour:
    """One hour of the account's clock: what is listed for it, and since when the campaign was running."""

    start: datetime
    end: datetime
    listed: list[CampaignHour]
    conversions: int  # reported in this hour
    running_since: datetime | None

    @property
    def _ran(self) -> bool:
        return self.running_since is not None and self.end > self.running_since

    def add_to(self, into: tuple[SpendWindow, CampaignWatch], pace: Pace) -> None:
        """Add it, unless there is nothing to add."""
        window, watch = into
        if self.listed or self.conversions or self._ran:
            counts = self._counts(pace)
            window.observe(counts, _day_of(self.start, pace.zone), self.end)
            watch.observe(counts, self.end)

    def _counts(self, pace: Pace) -> HourCounts:
        day = _day_of(self.start, pace.zone)
        daily = pace.daily_micros(day)
        ends_day = _day_of(self.end, pace.zone) != day
        spend = sum(hour.cost_micros for hour in self.listed)
        planned_left = 0 if ends_day else daily - _allowed_by_now(daily, pace.plan, self.end, pace.zone)
        return HourCounts(
            spend_micros=spend,
            planned_micros=self._planned(spend, daily, pace),
            planned_left_micros=planned_left,
            day_planned_micros=daily,
            impressions=sum(hour.impressions for hour in self.listed),
            clicks=sum(hour.clicks for hour in self.listed),
            conversions=self.conversions,
        )

    def _planned(self, spend: Micros, daily: Micros, pace: Pace) -> Micros:
        since = self.start
        if not self._ran:
            if spend == 0:  # a late conversion of a paused campaign
                return 0
        elif self.running_since is not None:
            since = max(self.start, self.running_since.astimezone(UTC))
        return _planned_between(daily, pace.plan, since, self.end, pace.zone)
