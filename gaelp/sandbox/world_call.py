"""One API call to the sandbox: everything a front may read and change, in one transaction at one simulated instant."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal, Protocol, TypeVar

from gaelp.money import Micros
from gaelp.sandbox.serving import ServedCampaign

__all__ = ["BidPoint", "ClickRow", "ConversionRow", "Invoice", "InvoiceLine", "ReportRow", "Resource", "WorldCall"]

Derived = TypeVar("Derived")


@dataclass(frozen=True, slots=True)
class Resource:
    """A stored object of a front, such as a campaign; `body` is the front's own encoding of it."""

    account: str
    kind: str  # such as google/campaign
    id: int
    name: str  # unique among the resources of its kind and account where the front demands it; otherwise ""
    body: bytes


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One hour of one ad group on one device, as the platform knows it at the time of the call.

    Clicks and cost are net of invalid clicks credited so far. Conversions and their value are those reported so far,
    counted in the hour of their click. `eligible` is how many impressions the group could have had.
    """

    campaign: int
    group: int
    device: str  # of DEVICES
    start: datetime  # of the hour, aware, UTC
    eligible: int
    impressions: int
    clicks: int
    cost_micros: Micros
    conversions: float
    value_micros: Micros
    hides: int  # negative feedback: "stop seeing this ad"
    complaints: int


@dataclass(frozen=True, slots=True)
class ClickRow:
    """A billed click; `credited_at` is when the platform returned its cost as invalid, None if it did not (yet)."""

    id: int
    campaign: int
    group: int
    device: str
    at: datetime
    cost_micros: Micros
    credited_at: datetime | None


@dataclass(frozen=True, slots=True)
class ConversionRow:
    """A conversion; `reported_at` is when the platform shows it, `refunded_at` when the buyer returned the goods.

    The platform never learns of refunds: only the advertiser's own sales feed does.
    """

    id: int
    click: int
    campaign: int
    group: int
    click_at: datetime
    at: datetime
    reported_at: datetime
    value_micros: Micros
    refunded_at: datetime | None


@dataclass(frozen=True, slots=True)
class BidPoint:
    """What a group would have had over the last seven complete days with another bid: one bid simulator point."""

    bid_micros: Micros
    impressions: int
    clicks: int
    cost_micros: Micros
    conversions: float
    value_micros: Micros


@dataclass(frozen=True, slots=True)
class InvoiceLine:
    """One line of a month's invoice: the clicks of a campaign, or a credit."""

    campaign: int
    kind: Literal["clicks", "invalid clicks", "overdelivery"]
    amount_micros: Micros  # negative for a credit


@dataclass(frozen=True, slots=True)
class Invoice:
    """The invoice of a calendar month of the account; issued when the month is over."""

    account: str
    month: date  # its first day
    issued_at: datetime
    lines: tuple[InvoiceLine, ...]


class WorldCall(Protocol):
    """Reads see the world as it is at `now`; changes are kept together or, if the block raises, not at all."""

    @property
    def now(self) -> datetime:
        """The simulated instant of the call, aware, UTC; every call has one, so that a recording can be replayed."""
        ...

    # Resources of a front

    def next_id(self) -> int:
        """A new id, unique in this sandbox, deterministic by the order of calls."""
        ...

    def resource(self, account: str, kind: str, id: int) -> Resource | None:  # noqa: A002 - ids are called id
        """One resource; None if it does not exist."""
        ...

    def resources(self, account: str, kind: str, ids: Iterable[int] | None = None) -> Sequence[Resource]:
        """All resources of a kind, or those with these ids, ordered by id."""
        ...

    def derived(self, account: str, kind: str, make: Callable[[Sequence[Resource]], Derived]) -> Derived:
        """What `make` returns for all resources of a kind; made again only after one of them has changed.

        Other calls get the same object, so nobody may change it; a kind always has the same `make`.
        """
        ...

    def named(self, account: str, kind: str, name: str) -> Resource | None:
        """The resource with this name."""
        ...

    def put(self, resource: Resource) -> None:
        """Create a resource or replace it."""
        ...

    def remove(self, account: str, kind: str, id: int) -> None:  # noqa: A002 - as above
        """Delete a resource; a front that keeps removed ones puts them with that status instead."""
        ...

    def count_operations(self, account: str, operations: int) -> int:
        """Add to the operations of the account's current day, and return their number."""
        ...

    # Serving

    def serve(self, campaign: ServedCampaign, at: datetime | None = None) -> None:
        """Say how a campaign serves from now on, or from a later instant on, such as the end of a review.

        The last call counts: it replaces what was said for this id and its instant or later ones.
        """
        ...

    # What an advertiser may know

    def report(
        self, account: str, first: date, last: date, hours: tuple[datetime, datetime] | None = None
    ) -> Sequence[ReportRow]:
        """The rows of these days of the account, both included, as far as reports have caught up by `now`.

        `hours` leaves out those that begin before its first instant, or at its second or later.
        """
        ...

    def reported_until(self, account: str) -> datetime:
        """The end of the last hour that reports cover; later hours are still missing or incomplete."""
        ...

    def clicks(self, account: str, first: date, last: date) -> Sequence[ClickRow]:
        """The billed clicks of these days that reports cover."""
        ...

    def conversions(self, account: str, first: date, last: date) -> Sequence[ConversionRow]:
        """The conversions whose click was on these days, as the advertiser's own sales feed has them by `now`."""
        ...

    def bid_points(self, campaign: int, group: int, bids_micros: Sequence[Micros]) -> Sequence[BidPoint]:
        """Bid simulator points: the group's last seven complete days again, with each of these bids."""
        ...

    def invoices(self, account: str) -> Sequence[Invoice]:
        """The invoices issued so far."""
        ...
