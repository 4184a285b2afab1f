"""The protocol of an ad platform: few calls, an idempotency key on each write, and three possible outcomes.

A budget is a lease: the platform spends up to it on each day through `through`, and then stops by itself. So a campaign
ends with its day even if GAELP is down.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from gaelp.content import Creative
from gaelp.money import Micros

__all__ = [
    "AdPlatform",
    "CallResult",
    "CampaignHour",
    "CampaignState",
    "CostReport",
    "DayCost",
    "Done",
    "ForeignEdit",
    "HourReport",
    "InvoiceAmount",
    "PlatformInvoice",
    "Rejected",
    "Unknown",
]


@dataclass(frozen=True, slots=True)
class Done:
    """The platform has carried the call out."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """The call had no effect and never will."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """The outcome is not known yet: a timeout, a lost connection, an invalid answer. Not a failure."""

    detail: str


CallResult: TypeAlias = Done | Rejected | Unknown


@dataclass(frozen=True, slots=True)
class CampaignState:
    """A campaign as the platform has it; it delivers if it is enabled, up to and including the day `through`.

    A connector maps the platform's statuses to these two. Any other counts as running, and is not renewed.
    """

    campaign: str
    status: Literal["enabled", "paused"]
    daily_micros: Micros
    through: date
    creatives: tuple[str, ...] = ()  # published creatives, by gaelp.content.creative_hash
    bids: tuple[tuple[str, Micros], ...] = ()  # the bid of each target that has one, sorted by target


@dataclass(frozen=True, slots=True)
class DayCost:
    """The cost of a campaign on a day of the account, as far as the platform knows."""

    campaign: str
    day: date
    micros: Micros


@dataclass(frozen=True, slots=True)
class CostReport:
    """All costs of a span of days as the platform knew them at `as_of`; a campaign-day that is not listed cost zero."""

    as_of: datetime
    costs: tuple[DayCost, ...]


@dataclass(frozen=True, slots=True)
class CampaignHour:
    """One hour of a target of a campaign by the account's clock; `target` is empty if the platform does not say which.

    Clicks and their cost count in the hour of the click. A conversion counts in the hour of its click or, if the
    platform reports it so, in the hour in which it was reported; its value likewise.
    """

    campaign: str
    start: datetime  # aware
    cost_micros: Micros
    impressions: int
    clicks: int
    conversions: int
    target: str = ""
    value_micros: Micros = 0


@dataclass(frozen=True, slots=True)
class HourReport:
    """All hours from some instant on, as the platform knew them at `as_of`; an hour that is not listed was empty.

    An hour that ended by `as_of` is listed with what is known of it. A later report may revise it, as long as its day
    is open to revision (`revised_days` in configs/budget/platforms.yaml).
    """

    as_of: datetime
    hours: tuple[CampaignHour, ...]


@dataclass(frozen=True, slots=True)
class ForeignEdit:
    """A change to a campaign that somebody else made on the platform: who, when, and what."""

    campaign: str
    at: datetime  # aware
    who: str
    what: str


@dataclass(frozen=True, slots=True)
class InvoiceAmount:
    """A line of an invoice: the clicks of the month, or a credit (negative); without a campaign, of the account."""

    kind: Literal["clicks", "invalid clicks", "overdelivery", "other"]
    micros: Micros
    campaign: str = ""


@dataclass(frozen=True, slots=True)
class PlatformInvoice:
    """The invoice of a calendar month of the account, as issued."""

    id: str
    month: date  # its first day
    issued_at: datetime  # aware
    amounts: tuple[InvoiceAmount, ...]


@runtime_checkable
class AdPlatform(Protocol):
    """One account on one platform.

    Each write has a unique key. The same call under the same key takes effect at most once. `look_up` finds it by that
    key, for instance in a name or label that the call leaves behind. No call hangs: without an answer in time it is
    Unknown. Several threads may pause at the same time. Campaigns are those that GAELP created here.
    """

    @property
    def name(self) -> str:
        """The platform's name in configs/budget/platforms.yaml, which says how far it may exceed a budget."""
        ...

    @property
    def world(self) -> Literal["live", "sandbox"]:
        """Whether real money can move here; without certainty, `live`."""
        ...

    def now(self) -> datetime:
        """The platform's own time, aware and in UTC: simulated in a sandbox; raises if it is not known."""
        ...

    def set_budget(self, campaign: str, daily_micros: Micros, through: date, *, key: str) -> CallResult:
        """Give a campaign this daily budget through that day; a missing campaign is created, paused."""
        ...

    def publish(self, campaign: str, creative: Creative, *, key: str) -> CallResult:
        """Add an advert to a campaign; its status stays as it is."""
        ...

    def set_bids(self, campaign: str, bids: Mapping[str, Micros], *, key: str) -> CallResult:
        """Set the bid of each of these targets of a campaign (such as its ad groups), all of them or none.

        Other targets, the budget and the status do not change. A missing target is created, like a campaign by its
        first budget.
        """
        ...

    def enable(self, campaign: str, *, key: str) -> CallResult:
        """Let a campaign deliver within its budget."""
        ...

    def pause(self, campaign: str, *, key: str) -> CallResult:
        """Stop a campaign; pausing a paused one is Done too."""
        ...

    def look_up(self, key: str) -> CallResult | None:
        """The outcome of the call with this key; None if the platform has no trace of it."""
        ...

    def read_campaigns(self) -> tuple[CampaignState, ...]:
        """The current state of every campaign; raises if it is not known."""
        ...

    def read_costs(self, first: date, last: date) -> CostReport:
        """The costs of the days from `first` to `last`, both included; raises if they are not known."""
        ...

    def read_hours(self, since: datetime) -> HourReport:
        """The hours of every campaign that begin at `since` or later; raises if they are not known."""
        ...

    def read_edits(self, since: datetime) -> tuple[ForeignEdit, ...]:
        """What others have changed at `since` or later, oldest first; raises if it is not known."""
        ...

    def read_invoices(self, first: date, last: date) -> tuple[PlatformInvoice, ...]:
        """The invoices issued so far for months that begin on these days, oldest first; raises if not known."""
        ...
