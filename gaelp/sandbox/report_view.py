"""What an advertiser may know at a tick: hours once reports have caught up, credits and conversions as they arrive."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import Connection, Row, text

from gaelp.sandbox.exchange_events import MEASURES, NEVER
from gaelp.sandbox.serving import DEVICES
from gaelp.sandbox.world_calendar import WorldCalendar
from gaelp.sandbox.world_call import ClickRow, ConversionRow, ReportRow

__all__ = ["ReportWindow", "click_rows", "conversion_rows", "report_rows"]

_OF_ACCOUNT = "campaign IN (SELECT id FROM served_campaign WHERE account = :account)"
_GROUP_KEY = "campaign, ad_group, device"
_HOURS = (
    f"SELECT hour_tick, {_GROUP_KEY}, {', '.join(MEASURES)} FROM hour_total"  # noqa: S608 - constants
    f" WHERE hour_tick >= :first AND hour_tick < :stop AND {_OF_ACCOUNT} ORDER BY hour_tick, {_GROUP_KEY}"
)
_CREDITS = (
    f"SELECT click_tick, {_GROUP_KEY}, cost_micros FROM credit"  # noqa: S608 - constants
    f" WHERE click_tick >= :first AND click_tick < :stop AND tick <= :now AND {_OF_ACCOUNT}"
)
_REPORTED = (
    f"SELECT click_tick, {_GROUP_KEY}, value_micros FROM conversion"  # noqa: S608 - constants
    f" WHERE click_tick >= :first AND click_tick < :stop AND reported_tick <= :now AND {_OF_ACCOUNT}"
)
_CLICKS = (
    "SELECT c.tick, c.id, c.campaign, c.ad_group, c.device, c.cost_micros, r.tick AS credited_tick FROM click c"  # noqa: S608
    " LEFT JOIN credit r ON r.click_tick = c.tick AND r.click = c.id AND r.tick <= :now"
    f" WHERE c.tick >= :first AND c.tick < :stop AND c.{_OF_ACCOUNT} ORDER BY c.tick, c.id"
)
_CONVERSIONS = (
    f"SELECT * FROM conversion WHERE click_tick >= :first AND click_tick < :stop AND tick <= :now AND {_OF_ACCOUNT}"  # noqa: S608
    " ORDER BY click_tick, id"
)

_Sums = Mapping[tuple[int, int, int, int], tuple[int, int]]
_NONE = (0, 0)


@dataclass(frozen=True, slots=True)
class ReportWindow:
    """What is asked for: the ticks of some days of an account, as known at tick `now`."""

    account: str
    ticks: range
    now: int
    lag_ticks: int
    calendar: WorldCalendar

    @property
    def reported_until(self) -> int:
        """The end of the last hour that reports cover: it has been over for as long as reports lag."""
        return self.calendar.hour_tick_of(max(0, self.now - self.lag_ticks))

    @property
    def reported(self) -> dict[str, int | str]:
        """The parameters of a query for the hours that reports cover."""
        return self.happened | {"stop": min(self.ticks.stop, self.reported_until)}

    @property
    def happened(self) -> dict[str, int | str]:
        """The same for everything that has happened."""
        return {"account": self.account, "first": self.ticks.start, "stop": self.ticks.stop, "now": self.now}


def report_rows(connection: Connection, window: ReportWindow) -> list[ReportRow]:
    """One row by hour, campaign, group and device, in this order; nothing for hours in which nothing was served."""
    credited = _by_hour(window.calendar, _select(connection, _CREDITS, window.reported))
    converted = _by_hour(window.calendar, _select(connection, _REPORTED, window.reported))
    instant_of = cache(window.calendar.instant_of)
    rows = []
    for hour_tick, campaign, group, device, *measures in _select(connection, _HOURS, window.reported):
        key = (hour_tick, campaign, group, device)
        eligible, impressions, clicks, cost_micros, hides, complaints = measures
        credited_clicks, credit_micros = credited.get(key, _NONE)
        conversions, value_micros = converted.get(key, _NONE)
        rows.append(
            ReportRow(
                campaign=campaign,
                group=group,
                device=DEVICES[device],
                start=instant_of(hour_tick),
                eligible=eligible,
                impressions=impressions,
                clicks=clicks - credited_clicks,
                cost_micros=cost_micros - credit_micros,
                conversions=float(conversions),
                value_micros=value_micros,
                hides=hides,
                complaints=complaints,
            )
        )
    return rows


def click_rows(connection: Connection, window: ReportWindow) -> list[ClickRow]:
    """The billed clicks in the hours that reports cover, with the credits made so far."""
    at = window.calendar.instant_of
    return [
        ClickRow(
            id=row.id,
            campaign=row.campaign,
            group=row.ad_group,
            device=DEVICES[row.device],
            at=at(row.tick),
            cost_micros=row.cost_micros,
            credited_at=None if row.credited_tick is None else at(row.credited_tick),
        )
        for row in _select(connection, _CLICKS, window.reported)
    ]


def conversion_rows(connection: Connection, window: ReportWindow) -> list[ConversionRow]:
    """Sales and refunds that have happened, as the advertiser's own feed has them at once."""
    at = window.calendar.instant_of
    return [
        ConversionRow(
            id=row.id,
            click=row.click,
            campaign=row.campaign,
            group=row.ad_group,
            click_at=at(row.click_tick),
            at=at(row.tick),
            reported_at=at(row.reported_tick),
            value_micros=row.value_micros,
            refunded_at=at(row.refunded_tick) if NEVER < row.refunded_tick <= window.now else None,
        )
        for row in _select(connection, _CONVERSIONS, window.happened)
    ]


def _by_hour(calendar: WorldCalendar, rows: Iterable[Row[Any]]) -> _Sums:
    """How many there are by hour, campaign, group and device, and the sum of their micros."""
    sums: dict[tuple[int, int, int, int], tuple[int, int]] = {}
    for tick, campaign, group, device, micros in rows:
        key = (calendar.hour_tick_of(tick), campaign, group, device)
        count, total = sums.get(key, _NONE)
        sums[key] = (count + 1, total + micros)
    return sums


def _select(connection: Connection, query: str, asked: Mapping[str, int | str]) -> Sequence[Row[Any]]:
    return connection.execute(text(query), asked).all()
