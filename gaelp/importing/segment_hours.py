"""Hours of segments as an ad platform reports them, turned into stored rows: for connectors and the sandbox."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import date, datetime

import pyarrow as pa

from gaelp.money import Micros
from gaelp.storage.schema import TABLES, TableName
from gaelp.types import Phase

__all__ = ["SegmentHour", "hour_report_table"]


@dataclass(frozen=True, slots=True)
class SegmentHour:
    """One report of one hour of a segment; a later report of the same hour has a higher revision.

    Hours without impressions belong here too: a bid that won nothing says as much as one that did.
    """

    account: str
    campaign: str
    segment: str
    start: datetime  # of the hour, aware
    account_day: date
    revision: int
    reported_at: datetime
    bid_micros: Micros | None  # in force, for a click
    impression_share: float | None
    impressions: int
    clicks: int
    conversions: float
    spend_micros: Micros
    value_micros: Micros


def hour_report_table(
    hours: Iterable[SegmentHour], *, phase: Phase, source: str, policy: str | None = None
) -> pa.Table:
    """Rows of the table hour_reports; the same hour and revision has the same id, so it is stored once."""
    rows, names = [], [field.name for field in fields(SegmentHour)]
    for hour in hours:
        row = {name: getattr(hour, name) for name in names}
        start = row.pop("start")
        id_ = f"{hour.account}/{hour.campaign}/{hour.segment}/{start:%Y%m%dT%H}/{hour.revision}"
        rows.append({**row, "id": id_, "at": start, "phase": phase.value, "source": source, "policy": policy})
    return pa.Table.from_pylist(rows, schema=TABLES[TableName.HOUR_REPORTS].columns)
