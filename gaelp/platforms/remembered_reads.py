"""Reads of a platform that are remembered until something is written: one account is read once, not by each part.

Several parts look at the same account at the same instant: reconciliation, money rules, the read-back of orders, the
loop itself. `forget` ends what is remembered; so does every write, whatever its outcome.
"""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Literal

from gaelp.content import Creative
from gaelp.money import Micros
from gaelp.platforms.platform import (
    AdPlatform,
    CallResult,
    CampaignState,
    CostReport,
    ForeignEdit,
    HourReport,
    PlatformInvoice,
)

__all__ = ["RememberedReads"]

_SLACK = timedelta(hours=1)  # reports lag by varying minutes


class RememberedReads:
    """An AdPlatform in front of another one."""

    def __init__(
        self, platform: AdPlatform, *, recent: timedelta | None = None, whole_every: timedelta = timedelta(hours=24)
    ) -> None:
        """With `recent`, hours older than that are read again every `whole_every` only, where each read is long."""
        self._platform, self._recent, self._whole_every = platform, recent, whole_every
        self._campaigns: tuple[CampaignState, ...] | None = None
        self._hours: tuple[datetime, HourReport] | None = None
        self._hours_stale = False
        self._whole_at: datetime | None = None
        self._edits: tuple[datetime, tuple[ForeignEdit, ...]] | None = None
        self._world: Literal["live", "sandbox"] | None = None

    def forget(self) -> None:
        """Read everything again from here on."""
        self._campaigns = self._edits = None
        self._hours_stale = True

    def forget_hours(self) -> None:
        """Read all hours again, old ones too."""
        self._hours = None

    def known_at(self, end: datetime) -> datetime | None:
        """When the hours that ended at an instant were last read; None if no hours were read yet."""
        if self._hours is None or self._whole_at is None:
            return None
        newest = self._hours[1].as_of
        return newest if self._recent is None else max(self._whole_at, min(newest, end + self._recent))

    @property
    def name(self) -> str:
        """The platform's name."""
        return self._platform.name

    @property
    def world(self) -> Literal["live", "sandbox"]:
        """Whether real money can move; a server that has proven to be a sandbox stays one."""
        if self._world != "sandbox":
            self._world = self._platform.world
        return self._world

    def now(self) -> datetime:
        """The platform's own time."""
        return self._platform.now()

    # Writes: what was read before is not true any more

    def set_budget(self, campaign: str, daily_micros: Micros, through: date, *, key: str) -> CallResult:
        """Give a campaign a budget."""
        self._campaigns = None
        return self._platform.set_budget(campaign, daily_micros, through, key=key)

    def publish(self, campaign: str, creative: Creative, *, key: str) -> CallResult:
        """Add an advert."""
        self._campaigns = None
        return self._platform.publish(campaign, creative, key=key)

    def set_bids(self, campaign: str, bids: Mapping[str, Micros], *, key: str) -> CallResult:
        """Set bids."""
        self._campaigns = None
        return self._platform.set_bids(campaign, bids, key=key)

    def enable(self, campaign: str, *, key: str) -> CallResult:
        """Let a campaign deliver."""
        self._campaigns = None
        return self._platform.enable(campaign, key=key)

    def pause(self, campaign: str, *, key: str) -> CallResult:
        """Stop a campaign."""
        self._campaigns = None
        return self._platform.pause(campaign, key=key)

    # Reads

    def look_up(self, key: str) -> CallResult | None:
        """The outcome of a call; never remembered."""
        return self._platform.look_up(key)

    def read_campaigns(self) -> tuple[CampaignState, ...]:
        """Every campaign."""
        if self._campaigns is None:
            self._campaigns = self._platform.read_campaigns()
        return self._campaigns

    def read_costs(self, first: date, last: date) -> CostReport:
        """Costs; never remembered."""
        return self._platform.read_costs(first, last)

    def read_hours(self, since: datetime) -> HourReport:
        """Hours; those of a longer report that was read before are the same."""
        if self._hours is None or self._hours[0] > since:
            self._read_whole(since)
        elif self._hours_stale:
            self._read_newer(*self._hours)
        self._hours_stale = False
        report = self._hours[1] if self._hours else HourReport(since, ())
        return HourReport(report.as_of, tuple(hour for hour in report.hours if hour.start >= since))

    def _read_whole(self, since: datetime) -> None:
        report = self._platform.read_hours(since)
        self._hours, self._whole_at = (since, report), report.as_of

    def _read_newer(self, since: datetime, known: HourReport) -> None:
        """Only the newest hours again, unless it is time to read all."""
        due = self._whole_at is None or known.as_of - self._whole_at >= self._whole_every - _SLACK
        if self._recent is None or due:
            self._read_whole(since)
            return
        first = max(known.as_of - self._recent, since)
        newer = self._platform.read_hours(first)
        older = tuple(hour for hour in known.hours if hour.start < first)
        self._hours = (since, HourReport(newer.as_of, older + newer.hours))

    def read_edits(self, since: datetime) -> tuple[ForeignEdit, ...]:
        """What others changed, likewise."""
        if self._edits is None or self._edits[0] > since:
            self._edits = (since, self._platform.read_edits(since))
        return tuple(edit for edit in self._edits[1] if edit.at >= since)

    def read_invoices(self, first: date, last: date) -> tuple[PlatformInvoice, ...]:
        """Invoices; never remembered."""
        return self._platform.read_invoices(first, last)
