"""One API call on an open world: its reads and changes, as SQL in the transaction that the world opened for it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from sqlalchemy import Connection, Row

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


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A WorldCall; `served` collects the campaigns for the exchange."""

    tick: int
    calendar: WorldCalendar
    lag_ticks: int
    exchange: Exchange
    connection: Connection
    served: list[ServedCampaign] = field(default_factory=list)

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
        return None if row is None else _resource(row)

    def resources(self, account: str, kind: str, ids: Iterable[int] | None = None) -> Sequence[Resource]:
        """All resources of a kind, or those with these ids, ordered by id."""
        if ids is not None:
            asked = (self.resource(account, kind, id_) for id_ in sorted(set(ids)))
            return [resource for resource in asked if resource is not None]
        return [_resource(row) for row in self.connection.exec_driver_sql(f"{_OF_KIND} ORDER BY id", (account, kind))]

    def named(self, account: str, kind: str, name: str) -> Resource | None:
        """The resource with this name; of several the one with the lowest id."""
        query = f"{_OF_KIND} AND name = ? ORDER BY id LIMIT 1"
        row = self.connection.exec_driver_sql(query, (account, kind, name)).one_or_none()
        return None if row is None else _resource(row)

    def put(self, resource: Resource) -> None:
        """Create a resource or replace it."""
        values = (resource.account, resource.kind, resource.id, resource.name, resource.body)
        self.connection.exec_driver_sql(_PUT, values)

    def remove(self, account: str, kind: str, id: int) -> None:  # noqa: A002 - as above
        """Delete a resource."""
        statement = "DELETE FROM resource WHERE account = ? AND kind = ? AND id = ?"
        self.connection.exec_driver_sql(statement, (account, kind, id))

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

    def report(self, account: str, first: date, last: date) -> Sequence[ReportRow]:
        """The rows of these days as far as reports have caught up."""
        return report_view.report_rows(self.connection, self._window(account, first, last))

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


def _resource(row: Row[tuple[str, str, int, str, bytes]]) -> Resource:
    return Resource(row.account, row.kind, row.id, row.name, row.body)
