"""One API call on an open world: its reads and changes, as SQL in the transaction that the world opened for it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Any, TypeVar

from sqlalchemy import Connection

from gaelp.money import Micros
from gaelp.sandbox import billing, report_view
from gaelp.sandbox.click_fault import click_factor, keep_click_factor, scaled
from gaelp.sandbox.exchange import Exchange
from gaelp.sandbox.served_check import check_served
from gaelp.sandbox.serving import ServedCampaign
from gaelp.sandbox.world_calendar import WorldCalendar
from gaelp.sandbox.world_call import BidPoint, ClickRow, ConversionRow, Invoice, ReportRow, Resource
from gaelp.sandbox.world_rows import add_serve_call, drop_serve_plans, plan_serve_call, take_id

__all__ = ["OpenCall"]

_OF_KIND = "SELECT account, kind, id, name, body FROM resource WHERE account = ? AND kind = ?"
_PUT = (
    "INSERT INTO resource (account, kind, id, name, body) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT DO UPDATE SET name = excluded.name, body = excluded.body"
)
_COUNT = (
    "INSERT INTO operation_count (account, day, operations) VALUES (?, ?, ?)"
    " ON CONFLICT DO UPDATE SET operations = operations + excluded.operations RETURNING operations"
)
_SIMULATED_DAYS = 7

Derived = TypeVar("Derived")


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A WorldCall; `served` collects the campaigns for the exchange.

    `known` is kept from call to call: what was derived from all resources of an account and kind. A kind that this call
    has changed is read from the file until the call has ended, because the change may still be undone.
    """

    tick: int
    calendar: WorldCalendar
    lag_ticks: int
    exchange: Exchange
    connection: Connection
    known: dict[tuple[str, str], Any] = field(default_factory=dict)
    served: list[ServedCampaign] = field(default_factory=list)
    changed: set[tuple[str, str]] = field(default_factory=set)  # accounts and kinds

    @property
    def now(self) -> datetime:
        """The simulated instant of the call, in UTC."""
        return self.calendar.instant_of(self.tick)

    def next_id(self) -> int:
        """A new id."""
        return take_id(self.connection)

    def resource(self, account: str, kind: str, id: int) -> Resource | None:  # noqa: A002 - ids are called id
        """One resource; None if it does not exist."""
        row = self.connection.exec_driver_sql(f"{_OF_KIND} AND id = ?", (account, kind, id)).one_or_none()
        return None if row is None else Resource(*row)

    def resources(self, account: str, kind: str, ids: Iterable[int] | None = None) -> Sequence[Resource]:
        """All resources of a kind, or those with these ids, ordered by id."""
        if ids is not None:
            asked = (self.resource(account, kind, id_) for id_ in sorted(set(ids)))
            return [resource for resource in asked if resource is not None]
        return [Resource(*row) for row in self.connection.exec_driver_sql(f"{_OF_KIND} ORDER BY id", (account, kind))]

    def derived(self, account: str, kind: str, make: Callable[[Sequence[Resource]], Derived]) -> Derived:
        """What `make` returns for all resources of a kind, from an earlier call if none has changed since."""
        place = (account, kind)
        if place in self.changed:
            return make(self.resources(account, kind))
        if place not in self.known:
            self.known[place] = make(self.resources(account, kind))
        kept: Derived = self.known[place]
        return kept

    def named(self, account: str, kind: str, name: str) -> Resource | None:
        """The resource with this name; of several the one with the lowest id."""
        query = f"{_OF_KIND} AND name = ? ORDER BY id LIMIT 1"
        row = self.connection.exec_driver_sql(query, (account, kind, name)).one_or_none()
        return None if row is None else Resource(*row)

    def put(self, resource: Resource) -> None:
        """Create a resource or replace it."""
        self._note_change(resource.account, resource.kind)
        values = (resource.account, resource.kind, resource.id, resource.name, resource.body)
        self.connection.exec_driver_sql(_PUT, values)

    def remove(self, account: str, kind: str, id: int) -> None:  # noqa: A002 - as above
        """Delete a resource."""
        self._note_change(account, kind)
        statement = "DELETE FROM resource WHERE account = ? AND kind = ? AND id = ?"
        self.connection.exec_driver_sql(statement, (account, kind, id))

    def _note_change(self, account: str, kind: str) -> None:
        self.changed.add((account, kind))
        self.known.pop((account, kind), None)

    def count_operations(self, account: str, operations: int) -> int:
        """Add to the operations of the account's current day, and return their number."""
        day = self.calendar.day_of(self.tick).isoformat()
        return int(self.connection.exec_driver_sql(_COUNT, (account, day, operations)).scalar_one())

    def serve(self, campaign: ServedCampaign, at: datetime | None = None) -> None:
        """Say how a campaign serves from now on, or from a later instant on."""
        tick = self.tick if at is None else max(self.tick, self.calendar.first_tick_from(at))
        drop_serve_plans(self.connection, tick, campaign.id)
        if tick > self.tick:
            check_served(campaign)
            plan_serve_call(self.connection, tick, campaign)
        else:
            self.serve_now(scaled(campaign, click_factor(self)))

    def serve_now(self, campaign: ServedCampaign) -> None:
        """Serve a campaign like this from the current tick on, whatever is wrong with click rates."""
        add_serve_call(self.connection, self.tick, campaign)
        self.served.append(campaign)

    def set_click_factor(self, factor: float) -> None:
        """Multiply the click rates of all adverts, also of those that serve already, from now on."""
        before = click_factor(self)
        keep_click_factor(self, factor)
        for campaign in self.exchange.served():
            self.serve_now(scaled(campaign, factor / before))

    def report(
        self, account: str, first: date, last: date, hours: tuple[datetime, datetime] | None = None
    ) -> Sequence[ReportRow]:
        """The rows of these days, or of some hours of them, as far as reports have caught up."""
        window = self._window(account, first, last)
        if hours is not None:
            start, stop = map(self.calendar.first_tick_from, hours)
            ticks = range(max(start, window.ticks.start), min(stop, window.ticks.stop))
            window = replace(window, ticks=ticks)
        return report_view.report_rows(self.connection, window)

    def reported_until(self, account: str) -> datetime:
        """The end of the last hour that reports cover."""
        today = self.calendar.day_of(self.tick)
        return self.calendar.instant_of(self._window(account, today, today).reported_until)

    def clicks(self, account: str, first: date, last: date) -> Sequence[ClickRow]:
        """The billed clicks of these days that reports cover."""
        return report_view.click_rows(self.connection, self._window(account, first, last))

    def conversions(self, account: str, first: date, last: date) -> Sequence[ConversionRow]:
        """The conversions whose click was on these days, as the advertiser's own sales feed has them by now."""
        return report_view.conversion_rows(self.connection, self._window(account, first, last))

    def bid_points(self, campaign: int, group: int, bids_micros: Sequence[Micros]) -> Sequence[BidPoint]:
        """Bid simulator points over the last seven complete days of the account."""
        today = self.calendar.day_of(self.tick)
        days = self.calendar.ticks_of_days(today - timedelta(days=_SIMULATED_DAYS), today - timedelta(days=1))
        return self.exchange.bid_points(campaign, group, bids_micros, days.start, days.stop)

    def invoices(self, account: str) -> Sequence[Invoice]:
        """The invoices issued so far."""
        return billing.invoices(self.connection, account, self.calendar, self.tick)

    def _window(self, account: str, first: date, last: date) -> report_view.ReportWindow:
        ticks = self.calendar.ticks_of_days(first, last)
        return report_view.ReportWindow(account, ticks, self.tick, self.lag_ticks, self.calendar)
