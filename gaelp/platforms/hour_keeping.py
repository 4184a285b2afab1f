"""What is known of the hours of an account's campaigns: read, brought up to date by one report, stored one by one."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache, partial
from typing import TypeVar
from zoneinfo import ZoneInfo

from gaelp.checks.raised import in_words
from gaelp.errors import GaelpError
from gaelp.platforms.campaign_hours import (
    HoursSeen,
    Pace,
    caught_up,
    first_seen,
    first_whole_hour_end,
    seen_paused,
    seen_running,
)
from gaelp.platforms.guard import Guard
from gaelp.platforms.hour_book import HourRow, find_hours, store_hours
from gaelp.platforms.platform import CampaignHour, HourReport
from gaelp.platforms.rule_inputs import MoneyRules, daily_budget_micros

__all__ = ["AccountHours", "tried"]

Read = TypeVar("Read")

_ATTEMPTS = 3
_CLOCKS_DIFFER = timedelta(minutes=1)


class AccountHours:
    """The hours of the campaigns that were added; `doubts` says of whom nothing can be known, and why."""

    def __init__(self, guard: Guard, rules: MoneyRules, now: datetime, zone: ZoneInfo) -> None:
        self._guard, self._rules, self._now, self._zone = guard, rules, now, zone
        self._rows: dict[str, HourRow] = {}
        self._stored: dict[str, HoursSeen | None] = {}
        self._as_of: datetime | None = None
        self.doubts: dict[str, str] = {}

    def seen(self, campaign: str) -> HoursSeen | None:
        """What is known of a campaign; nothing if what was kept of it cannot be read."""
        row = self._rows.get(campaign)
        return None if row is None else row.seen

    def add_running(self, campaign: str) -> None:
        """A campaign that runs; one that was never seen running, or stood still, begins now."""
        try:
            row = find_hours(self._guard.ledger, self._guard.account.id, campaign)
            begun = row or HourRow(first_seen(self._now, self._zone, self._rules.signals))
            self._stored[campaign] = row.seen if row else None
            self._rows[campaign] = HourRow(seen_running(begun.seen, self._now), begun.version)
        except Exception as error:  # noqa: BLE001 - it counts as unknown, and the others are looked at
            self.doubts[campaign] = in_words(error)

    def add_paused(self, campaign: str) -> None:
        """A campaign that stands still: what it cost before is still taken in, if it can be."""
        try:
            row = find_hours(self._guard.ledger, self._guard.account.id, campaign)
            if row is not None:
                self._stored[campaign] = row.seen
                self._rows[campaign] = HourRow(seen_paused(row.seen), row.version)
        except Exception as error:  # noqa: BLE001 - it spends nothing; it is told when it runs
            self.doubts[campaign] = in_words(error)

    def take_in(self) -> None:
        """Read the hours once for all, and bring each campaign up to date."""
        hours: dict[str, list[CampaignHour]] = {}
        problem = ""
        if self._rows:
            since = min(row.seen.taken_until for row in self._rows.values())
            try:
                report = tried(lambda: self._guard.platform.read_hours(since))
                hours = _by_campaign(report, self._now)
                self._as_of = report.as_of
            except Exception as error:  # noqa: BLE001 - what runs counts as unknown
                problem = f"its hours could not be read: {in_words(error)}"
        for campaign in self._rows:
            self._bring_up_to_date(campaign, hours.get(campaign, []), problem)

    def _bring_up_to_date(self, campaign: str, hours: list[CampaignHour], problem: str) -> None:
        row = self._rows[campaign]
        try:
            if self._as_of is not None:
                pace = Pace(self._rules.plan, cache(partial(daily_budget_micros, self._guard, campaign)), self._zone)
                row = HourRow(caught_up(row.seen, hours, self._as_of, pace, self._rules.signals), row.version)
            if row.seen != self._stored[campaign]:
                # Another pass at the same time may have stored more; then that stands, and this one judges what it saw.
                store_hours(self._guard.ledger, self._guard.account.id, campaign, row)
            self._rows[campaign] = row
        except Exception as error:  # noqa: BLE001 - it counts as unknown, and the others are brought up to date
            problem = in_words(error)
        if problem:
            self.doubts[campaign] = problem

    def why_unknown(self, seen: HoursSeen) -> str:
        """Why there are no figures that can be judged; nothing if there are."""
        as_of = self._as_of.isoformat() if self._as_of else "never"
        ended = seen.window.last_hour_end
        if ended is None or seen.running_since is None or ended <= seen.running_since:
            return f"no hour of it has ended since it was seen running, in a report as of {as_of}"
        if self._now - ended > self._rules.maximum_age:
            minutes = (self._now - ended).total_seconds() / 60
            return f"the last hour that is known ended {minutes:.0f} minutes ago, the report is as of {as_of}"
        return ""

    def may_wait(self, seen: HoursSeen) -> bool:
        """Whether a campaign has begun so lately that nothing can be known of it yet."""
        if seen.running_since is None:
            return False
        due = first_whole_hour_end(seen.running_since, self._zone) + self._rules.maximum_age
        return self._now < due


def tried(call: Callable[[], Read]) -> Read:
    """What a reading call answers; a line that is lost for a moment is no reason to pause an account."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return call()
        except Exception:  # noqa: BLE001, S112 - the last attempt tells
            continue
    return call()


def _by_campaign(report: HourReport, now: datetime) -> dict[str, list[CampaignHour]]:
    if report.as_of.utcoffset() is None or report.as_of > now + _CLOCKS_DIFFER:
        raise GaelpError(f"the hours are as of {report.as_of.isoformat()}, which is yet to come or has no time zone")
    hours: dict[str, list[CampaignHour]] = {}
    for hour in report.hours:
        hours.setdefault(hour.campaign, []).append(hour)
    return hours
