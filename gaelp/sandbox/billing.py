"""The monthly invoices of an account: what its clicks cost, less the credits of the month.

A click is billed in the month it happened. An invalid click is credited in the month in which it is found, so the
invoice of a month differs from its reports, which are net of all credits: by credits that came after the month, and by
those of earlier clicks that came in it. Beyond the limits of a budget the exchange bills nothing, so there is no
overdelivery to credit.
"""

from datetime import date

from sqlalchemy import Connection, text

from gaelp.sandbox.world_calendar import WorldCalendar
from gaelp.sandbox.world_call import Invoice, InvoiceLine

__all__ = ["invoices"]

_OF_ACCOUNT = "campaign IN (SELECT id FROM served_campaign WHERE account = :account)"
_SPAN = "tick >= :first AND tick < :stop"
_CLICKS = text(
    f"SELECT campaign, 'clicks' AS kind, sum(cost_micros) AS micros FROM click WHERE {_SPAN} AND {_OF_ACCOUNT}"  # noqa: S608
    " GROUP BY campaign"
)
_CREDITS = text(
    f"SELECT campaign, 'invalid clicks' AS kind, -sum(cost_micros) AS micros FROM credit WHERE {_SPAN}"  # noqa: S608
    f" AND {_OF_ACCOUNT} GROUP BY campaign"
)
_FIRST_SERVED = text("SELECT min(first_tick) FROM served_campaign WHERE account = :account")


def invoices(connection: Connection, account: str, calendar: WorldCalendar, now: int) -> list[Invoice]:
    """The invoices of all months that are over at tick `now`, from the one in which the account first served."""
    first = connection.execute(_FIRST_SERVED, {"account": account}).scalar_one()
    if first is None:
        return []
    issued = []
    month = calendar.day_of(first).replace(day=1)
    while (stop := calendar.first_tick_of(_next_month(month))) <= now:
        ticks = range(calendar.first_tick_of(month), stop)
        issued.append(Invoice(account, month, calendar.instant_of(stop), _lines(connection, account, ticks)))
        month = _next_month(month)
    return issued


def _lines(connection: Connection, account: str, ticks: range) -> tuple[InvoiceLine, ...]:
    asked = {"account": account, "first": ticks.start, "stop": ticks.stop}
    rows = [row for query in (_CLICKS, _CREDITS) for row in connection.execute(query, asked)]
    return tuple(
        InvoiceLine(row.campaign, row.kind, row.micros)
        for row in sorted(rows, key=lambda row: (row.campaign, row.kind))
    )


def _next_month(month: date) -> date:
    return date(month.year + month.month // 12, month.month % 12 + 1, 1)
