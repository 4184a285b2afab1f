"""Stored rows become arrays: the newest revision of each hour, on the account's clock, as known at a time."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest

from gaelp.errors import DataError
from gaelp.importing.segment_hours import SegmentHour, hour_report_table
from gaelp.market.calibration.report_frame import bid_points, floored, hour_reports, keep_days, without_shares
from gaelp.storage.conformance_rows import rows_of
from gaelp.storage.schema import TableName, empty_table
from gaelp.types import Phase

MIDNIGHT = datetime(2026, 3, 2, 5, tzinfo=UTC)  # of an account five hours behind


def report(hour, *, revision=0, clicks=0, conversions=0.0, segment="shoes", reported=4):
    start = MIDNIGHT + timedelta(hours=hour)
    return SegmentHour(
        account="1",
        campaign="spring",
        segment=segment,
        start=start,
        account_day=date(2026, 3, 2) + timedelta(days=hour // 24),
        revision=revision,
        reported_at=start + timedelta(hours=reported),
        bid_micros=1_000_000,
        impression_share=None,
        impressions=10,
        clicks=clicks,
        conversions=conversions,
        spend_micros=clicks * 500_000,
        value_micros=0,
    )


def tables(*hours):
    return {TableName.HOUR_REPORTS: hour_report_table(hours, phase=Phase.HISTORY, source="import")}


def test_the_newest_revision_counts_and_earlier_ones_do_as_of_earlier():
    rows = tables(report(0, clicks=3), report(0, revision=1, clicks=2, conversions=1.0, reported=60))
    assert hour_reports(rows, source="x").clicks.tolist() == [[2.0]]
    before = hour_reports(rows, source="x", as_of=MIDNIGHT + timedelta(hours=30))
    assert before.clicks.tolist() == [[3.0]]
    assert before.conversions.tolist() == [[0.0]]


def test_hours_are_on_the_accounts_clock_and_gaps_stay_gaps():
    reports = hour_reports(tables(report(0), report(3), report(25)), source="x")
    assert reports.offset_hours == -5
    assert reports.covered_hours[0] % 24 == 0
    assert reports.hour_of_week[:2].tolist() == [0, 1]
    assert reports.has_row[0].nonzero()[0].tolist() == [0, 3, 25]
    assert reports.days == 2


def test_rows_of_a_whole_campaign_are_left_out_where_its_segments_have_rows():
    both = hour_reports(tables(report(0), report(0, segment=None, clicks=9)), source="x")
    assert both.segment_names == ("spring/shoes",)
    assert hour_reports(tables(report(0, segment=None)), source="x").segment_names == ("spring",)


def test_no_report_with_a_bid_is_refused_with_the_way_out():
    with pytest.raises(DataError, match="no hour report with a bid and impressions; allowed: at least one"):
        hour_reports({TableName.HOUR_REPORTS: empty_table(TableName.HOUR_REPORTS)}, source="x")


def test_day_shares_and_budgets_are_read_by_segment_and_day(known_reports, all_reports):
    assert np.isfinite(all_reports.day_share).all()
    assert np.isnan(all_reports.day_budget_micros).all()
    decision = {"episode": "e", "step": 0, "segment": "group-00", "bid_micros": 1, "budget_left_micros": 70}
    starts = [datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 2, 9, tzinfo=UTC), datetime(2026, 3, 3, tzinfo=UTC)]
    rows = [
        {**decision, "id": str(n), "campaign": "campaign-01", "at": at, "budget_left_micros": 70 - n}
        for n, at in enumerate(starts)
    ]
    with_budgets = known_reports.tables | {TableName.DECISIONS: rows_of(TableName.DECISIONS, *rows)}
    budgets = hour_reports(with_budgets, source="x").day_budget_micros
    assert budgets[1, :2].tolist() == [70, 68]
    assert np.isnan(budgets[0]).all()


def test_a_part_keeps_its_days_and_none_is_refused(all_reports):
    part = keep_days(all_reports, 7, 14)
    assert part.days == 7
    assert part.day_share.shape[1] == 7
    assert part.impressions.sum() == all_reports.by_day(all_reports.impressions)[:, 7:14].sum()
    with pytest.raises(DataError, match="no hour from day 50 to 60 of 42"):
        keep_days(all_reports, 50, 60)


def test_shares_can_be_floored_or_taken_away(all_reports):
    low = all_reports.day_share < 0.1
    assert (floored(all_reports).day_share[low] == 0.0999).all()
    assert (floored(all_reports).day_share[~low] == all_reports.day_share[~low]).all()
    assert np.isnan(without_shares(all_reports).day_share).all()


def test_points_stand_alone_with_their_segments(known_reports):
    names, points = bid_points(known_reports.tables[TableName.BID_SIMULATIONS])
    assert names == known_reports.segment_names
    assert set(points.days) == {7.0}
    with pytest.raises(DataError, match="no bid simulator point"):
        bid_points(empty_table(TableName.BID_SIMULATIONS))
