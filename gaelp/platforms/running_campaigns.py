"""What a platform says of campaigns that somebody else runs: their hours, bids and impression shares, read only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Protocol, runtime_checkable

from gaelp.money import Micros
from gaelp.platforms.platform import CampaignHour

__all__ = ["DayShare", "ReadsRunning", "RunningReport"]


@dataclass(frozen=True, slots=True)
class DayShare:
    """The share of possible impressions that a target had on a day of the account; 0.0999 means less than 0.1."""

    campaign: str
    target: str
    day: date
    impression_share: float


@dataclass(frozen=True, slots=True)
class RunningReport:
    """Hours that ended by `as_of`, one that is not listed was empty; bids as they were at `read_at`."""

    read_at: datetime
    as_of: datetime
    hours: tuple[CampaignHour, ...]
    bids_micros: Mapping[tuple[str, str], Micros]  # by campaign and target, of those that take part in auctions
    shares: tuple[DayShare, ...] = ()  # of whole days, where the platform says


@runtime_checkable
class ReadsRunning(Protocol):
    """A platform that can be asked about campaigns that GAELP did not create."""

    def read_running(self, campaigns: Sequence[str], since: datetime) -> RunningReport:
        """The hours from `since` on of these campaigns, by name; raises if they are not known. Nothing is changed."""
        ...
