"""The advertiser's own sales, refunds taken off: into the store, and from there to days of the click x campaigns."""

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from gaelp.arrays import Floats, Ints
from gaelp.sandbox.control_messages import SandboxSale
from gaelp.storage.schema import TABLES, TableName
from gaelp.storage.store import EpisodeStore, RowFilter
from gaelp.types import Phase

__all__ = ["SalesByDay", "read_sales", "sales_by_day", "sales_table"]

_COLUMNS = ("campaign", "conversion", "revision", "click_at", "reported_at", "value_micros")


class SalesByDay(NamedTuple):
    """Sales that were not sent back and their value, by day of the click and campaign, (D, N) each."""

    sales: Floats
    value_micros: Ints
    unmatched: int  # sales without a click on one of the days of one of the campaigns


def sales_table(sales: Sequence[SandboxSale], *, source: str) -> pa.Table:
    """Rows of the table `conversions`, phase pilot; the same sales again have the same ids and are stored once."""
    rows = [row for sale in sales for row in _rows(sale, source)]
    return pa.Table.from_pylist(rows, schema=TABLES[TableName.CONVERSIONS].columns)


def read_sales(
    store: EpisodeStore,
    campaigns: Sequence[str],
    days: Sequence[date],
    time_zone: str,
    as_of: datetime,
    *,
    sources: tuple[str, ...] = (),
) -> SalesByDay | None:
    """The sales feed of a pilot as it was known at `as_of`; None if nothing of these campaigns was ever fed."""
    wanted = RowFilter(phases=(Phase.PILOT,), sources=sources, campaigns=tuple(campaigns))
    parts = list(store.scan(TableName.CONVERSIONS, wanted, _COLUMNS))
    rows = [row for part in parts for row in part.to_pylist()]
    return sales_by_day(rows, campaigns, days, time_zone, as_of) if rows else None


def sales_by_day(
    rows: Sequence[dict[str, Any]], campaigns: Sequence[str], days: Sequence[date], time_zone: str, as_of: datetime
) -> SalesByDay:
    """Join reports of sales to the day of their click: the last revision by `as_of` counts, one of value 0 as none."""
    newest: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        if row["reported_at"] <= as_of:
            key = (row["campaign"], row["conversion"])
            if key not in newest or newest[key]["revision"] < row["revision"]:
                newest[key] = row
    row_of = {day: place for place, day in enumerate(days)}
    column_of = {campaign: place for place, campaign in enumerate(campaigns)}
    zone, shape = ZoneInfo(time_zone), (len(days), len(campaigns))
    sales, value, unmatched = np.zeros(shape), np.zeros(shape, np.int64), 0
    for row in newest.values():
        day = None if row["click_at"] is None else row_of.get(row["click_at"].astimezone(zone).date())
        column = column_of.get(row["campaign"])
        if day is None or column is None:
            unmatched += 1
            continue
        is_refunded = row["revision"] > 0 and row["value_micros"] == 0
        sales[day, column] += 0.0 if is_refunded else 1.0
        value[day, column] += row["value_micros"]
    return SalesByDay(sales, value, unmatched)


def _rows(sale: SandboxSale, source: str) -> Iterator[dict[str, Any]]:
    known = f"{sale.campaign}/{sale.sale}"
    reports = [(sale.at, sale.value_micros)]
    if sale.refunded_at is not None:
        reports.append((max(sale.refunded_at, sale.at), 0))
    for revision, (reported_at, value_micros) in enumerate(reports):
        yield {
            "id": f"{known}/{revision}",
            "at": sale.at,
            "phase": Phase.PILOT.value,
            "source": source,
            "campaign": sale.campaign,
            "conversion": known,
            "revision": revision,
            "segment": sale.segment,
            "click": f"{sale.campaign}/{sale.click}",
            "click_at": sale.click_at,
            "reported_at": reported_at,
            "value_micros": value_micros,
        }
