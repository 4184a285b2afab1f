"""Hours of segments become rows of hour_reports, each report once."""

from dataclasses import replace
from datetime import UTC, date, datetime

from gaelp.importing.segment_hours import SegmentHour, hour_report_table
from gaelp.storage.row_check import check_rows
from gaelp.storage.schema import TableName
from gaelp.types import Phase

HOUR = SegmentHour(
    account="1000000001",
    campaign="spring",
    segment="shoes",
    start=datetime(2026, 3, 2, 5, tzinfo=UTC),
    account_day=date(2026, 3, 2),
    revision=0,
    reported_at=datetime(2026, 3, 2, 9, tzinfo=UTC),
    bid_micros=1_200_000,
    impression_share=None,
    impressions=12,
    clicks=1,
    conversions=0.0,
    spend_micros=900_000,
    value_micros=0,
)


def test_rows_fit_the_schema_and_a_revision_has_an_id_of_its_own():
    table = hour_report_table([HOUR, replace(HOUR, revision=1)], phase=Phase.HISTORY, source="account")
    rows = check_rows(TableName.HOUR_REPORTS, table).to_pylist()
    assert [row["revision"] for row in rows] == [0, 1]
    assert len({row["id"] for row in rows}) == 2
    assert rows[0]["at"] == HOUR.start
    assert rows[0]["spend_micros"] == 900_000
    assert rows[0]["impression_share"] is None


def test_the_same_report_read_by_two_imports_has_one_id():
    first, second = (hour_report_table([HOUR], phase=Phase.HISTORY, source=name) for name in ("monday", "tuesday"))
    assert first["id"] == second["id"]
