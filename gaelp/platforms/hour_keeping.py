"""The hours of an account's campaigns: loaded, updated from one report, and stored campaign by campaign."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache, partial
from typing import TypeVar
from zoneinfo import ZoneInfo

from gaelp.checks.raised import in_words
from gaelp.errors import GaelpError
from gaelp.platforms.campaign_hours import (
    ObservedHours,
    Pace,
    caught_up,
    first_observed,
    first_whole_hour_end,
    mark_paused,
    mark_running,
)
from gaelp.platforms.guard import Guard
from gaelp.platforms.hour_book import HourRow, find_hours, store_hours
from gaelp.platforms.platform import CampaignHour, HourReport
from gaelp.platforms.rule_inputs import MoneyRules, daily_budget_micros

__all__ = ["AccountHours", "with_retries"]

Read = TypeVar("Read")

_ATTEMPTS = 3
_CLOCKS_DIFFER = timedelta(minutes=1)


class AccountHours:
    """The hours of the added campaigns; `doubts` says for which campaigns nothing is known, and why."""

    def __init__(self, guard: Guard, rules: MoneyRules, now: datetime, zone: ZoneInfo) -> None:
        self._guard, self._rules, self._now, self._zone = guard, rules, now, zone
        self._rows: dict[str, HourRow] = {}
        self._stored: dict[str, ObservedHours | None] = {}
        self._as_of: datetime | None = None
        self._lag = timedelta(hours=guard.terms.report_lag_hours)
        self.doubts: dict[str, str] = {}

    def observed(self, campaign: str) -> ObservedHours | None:
        """The state of a campaign; None if its stored state cannot be read."""
        row = self._rows.get(campaign)
        return None if row is None else row.observed

    def add_running(self, campaign: str) -> None:
        """Add a running campaign; a new or resumed one starts now."""
        try:
            row = find_hours(self._guard.ledger, self._guard.account.id, campaign)
            begun = row or HourRow(first_observed(self._now, self._zone, self._rules.signals))
            self._stored[campaign] = row.observed if row else None
            self._rows[campaign] = HourRow(mark_running(begun.observed, self._now), begun.version)
        except Exception as error:  # noqa: BLE001 - it counts as unknown, and the others are still judged
            self.doubts[campaign] = in_words(error)

    def add_paused(self, campaign: str) -> None:
        """Add a paused campaign: its earlier cost is still counted if it can be read."""
        try:
            row = find_hours(self._guard.ledger, self._guard.account.id, campaign)
            if row is not None:
                self._stored[campaign] = row.observed
                self._rows[campaign] = HourRow(mark_paused(row.observed), row.version)
        except Exception as error:  # noqa: BLE001 - it spends nothing; the problem is reported when it runs
            self.doubts[campaign] = in_words(error)

    def update(self) -> None:
        """Read one report of hours, and update each campaign."""
        hours: dict[str, list[CampaignHour]] = {}
        problem = ""
        if self._rows:
            since = min(row.observed.base.until for row in self._rows.values())
            try:
                report = with_retries(lambda: self._guard.platform.read_hours(since))
                hours = _by_campaign(report, self._now)
                self._as_of = report.as_of
            except Exception as error:  # noqa: BLE001 - running campaigns count as unknown
                problem = f"its hours could not be read: {in_words(error)}"
        for campaign in self._rows:
            self._update_one(campaign, hours.get(campaign, []), problem)
        self._store()

    def _store(self) -> None:
        changed = {name: row for name, row in self._rows.items() if row.observed != self._stored[name]}
        try:
            if changed:
                # If a concurrent pass has stored more, its state is kept, and this pass judges what it has read.
                store_hours(self._guard.ledger, self._guard.account.id, changed)
        except Exception as error:  # noqa: BLE001 - what is not stored counts as unknown
            self.doubts |= dict.fromkeys(changed, in_words(error))

    def _update_one(self, campaign: str, hours: list[CampaignHour], problem: str) -> None:
        row = self._rows[campaign]
        try:
            if self._as_of is not None:
                pace = Pace(self._rules.plan, cache(partial(daily_budget_micros, self._guard, campaign)), self._zone)
                row = HourRow(self._recounted(row.observed, hours, self._as_of, pace), row.version)
            self._rows[campaign] = row
        except Exception as error:  # noqa: BLE001 - it counts as unknown, and the others are still updated
            problem = in_words(error)
        if problem:
            self.doubts[campaign] = problem

    def _recounted(
        self, observed: ObservedHours, hours: list[CampaignHour], as_of: datetime, pace: Pace
    ) -> ObservedHours:
        days = self._guard.terms.revised_days
        return caught_up(observed, hours, as_of, pace, self._rules.signals, revised_days=days)

    def why_unknown(self, observed: ObservedHours) -> str:
        """Why there are no usable figures; empty if there are."""
        as_of = self._as_of.isoformat() if self._as_of else "never"
        ended = observed.window.last_hour_end
        if ended is None or observed.running_since is None or ended <= observed.running_since:
            return f"no hour of it has ended since it was seen running, in a report as of {as_of}"
        if self._now - self._lag - ended > self._rules.maximum_age:
            minutes = (self._now - ended).total_seconds() / 60
            return f"the last known hour ended {minutes:.0f} minutes ago, the report is as of {as_of}"
        return ""

    def judged_at(self, observed: ObservedHours | None) -> datetime:
        """The instant from which the age of figures counts: what the platform reports late by its terms is not old."""
        reported = self._now - self._lag
        ended = observed.window.last_hour_end if observed else None
        return max(reported, min(ended, self._now)) if ended else reported

    def may_wait(self, observed: ObservedHours) -> bool:
        """Whether a campaign started so recently that nothing can be known about it yet."""
        if observed.running_since is None:
            return False
        due = first_whole_hour_end(observed.running_since, self._zone) + self._rules.maximum_age + self._lag
        return self._now < due


def with_retries(call: Callable[[], Read]) -> Read:
    """Make a read call with retries, so that a brief outage does not pause an account."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return call()
        except Exception:  # noqa: BLE001, S112 - the last attempt raises
            continue
    return call()


def _by_campaign(report: HourReport, now: datetime) -> dict[str, list[CampaignHour]]:
    if report.as_of.utcoffset() is None or report.as_of > now + _CLOCKS_DIFFER:
        raise GaelpError(f"the hours are as of {report.as_of.isoformat()}, which is in the future or has no time zone")
    hours: dict[str, list[CampaignHour]] = {}
    for hour in report.hours:
        hours.setdefault(hour.campaign, []).append(hour)
    return hours
