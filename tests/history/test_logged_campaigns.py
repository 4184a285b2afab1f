"""Logged decisions carry the figures that were known at a stated moment, each at the hour of its click."""

import time

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaelp.errors import BadInput
from gaelp.history.logged_campaigns import keep_rows, read_logged
from gaelp.history.maturity import comparable_days
from gaelp.storage.duckdb_store import DuckDbStore
from gaelp.storage.schema import TABLES, TableName
from gaelp.storage.store import RowFilter


class RowsInMemory:
    """The one method of a store that readers use."""

    def __init__(self, tables):
        self._tables = tables

    def scan(self, table, rows=None, columns=None):
        if table in self._tables:
            part = self._tables[table]
            since, until = rows.since, rows.until
            keep = [(since is None or at >= since) and (until is None or at < until) for at in part["at"].to_pylist()]
            yield part.filter(pa.array(keep, pa.bool_())).select(list(columns))


@pytest.fixture(scope="module")
def read(log_rows):
    def run(decisions=(), reports=(), conversions=(), **options):
        given = {
            TableName.DECISIONS: decisions,
            TableName.HOUR_REPORTS: reports,
            TableName.CONVERSIONS: conversions,
            TableName.CLICKS: options.pop("clicks", ()),
            TableName.SPEND_EVENTS: options.pop("spend", ()),
        }
        tables = {name: log_rows.table(name, list(rows)) for name, rows in given.items()}
        return read_logged(RowsInMemory(tables), options.pop("rows", RowFilter()), **options)

    return run


def test_a_log_without_reports_is_taken_at_its_own_figures_and_says_so(read, log_rows):
    logged = read([log_rows.decision("a", "s", 0)])
    assert (logged.clicks.tolist(), logged.conversions.tolist(), logged.value_micros.tolist()) == (
        [3],
        [1.0],
        [5_000_000],
    )
    assert logged.facts.undated_rows == 1
    assert logged.facts.account_clock == "UTC"
    assert logged.log_density == pytest.approx(np.log(0.8))


def test_clicks_and_spend_are_those_of_the_newest_report_at_that_moment(read, log_rows):
    reports = [
        log_rows.report("a", "s", 0, clicks=5, spend_micros=5_000_000),
        log_rows.report("a", "s", 0, 1, 30, clicks=4, spend_micros=4_100_000),  # an invalid click was credited
    ]
    decisions = [log_rows.decision("a", "s", 0)]
    assert read(decisions, reports).clicks.tolist() == [4]
    early = read(decisions, reports, as_of=log_rows.START + 20 * log_rows.HOUR)
    assert (early.clicks.tolist(), early.spend_micros.tolist()) == ([5], [5_000_000])


def test_an_hour_that_had_not_been_reported_by_then_is_left_out_and_not_read_from_the_log(read, log_rows):
    decisions = [log_rows.decision("a", "s", hour, clicks=777) for hour in range(3)]
    reports = [log_rows.report("a", "s", 0), log_rows.report("a", "s", 1, reported_hours=90)]
    logged = read(decisions, reports, as_of=log_rows.START + 20 * log_rows.HOUR)
    assert logged.clicks.tolist() == [4]
    assert logged.facts.unreported_rows == 2
    kept = read(decisions, reports, as_of=log_rows.START + 20 * log_rows.HOUR, keep_unreported=True)
    assert kept.clicks.tolist() == [4, 0, 0]


def test_a_conversion_counts_at_the_hour_of_its_click_however_late_it_is(read, log_rows):
    decisions = [log_rows.decision("a", "s", hour) for hour in range(5)]
    reports = [log_rows.report("a", "s", hour) for hour in range(5)]
    sales = [log_rows.conversion("x", "a", "s", 2.5, delay_hours=200, value=30_000_000)]
    logged = read(decisions, reports, sales)
    assert logged.conversions.tolist() == [0, 0, 1, 0, 0]
    assert logged.value_micros.tolist() == [0, 0, 30_000_000, 0, 0]
    before = read(decisions, reports, sales, as_of=log_rows.START + 100 * log_rows.HOUR)
    assert before.conversions.sum() == before.value_micros.sum() == 0


def test_a_refund_takes_conversion_and_value_away_from_when_it_was_known(read, log_rows):
    decisions, reports = [log_rows.decision("a", "s", 0)], [log_rows.report("a", "s", 0)]
    sales = [
        log_rows.conversion("x", "a", "s", 0.2),
        log_rows.conversion("x", "a", "s", 0.2, delay_hours=300, revision=1, value=0),
        log_rows.conversion("lead", "a", "s", 0.3, value=0),  # worth nothing, and not refunded
    ]
    assert read(decisions, reports, sales).value_micros.tolist() == [0]
    assert read(decisions, reports, sales).conversions.tolist() == [1.0]
    before = read(decisions, reports, sales, as_of=log_rows.START + 200 * log_rows.HOUR)
    assert (before.conversions.tolist(), before.value_micros.tolist()) == ([2.0], [25_000_000])


def test_a_conversion_without_the_time_of_its_click_is_found_by_the_click(read, log_rows):
    sales = [log_rows.conversion("x", "a", None, 1, click_at=None)]
    at = log_rows.START + 1.5 * log_rows.HOUR
    click = {**log_rows.common("click-x", at, "a", "log"), "segment": "t", "cost_micros": 1}
    decisions = [log_rows.decision("a", segment, hour) for segment in "st" for hour in range(3)]
    logged = read(decisions, [], sales, clicks=[click])
    assert logged.conversions.tolist() == [0, 0, 0, 1, 0, 0]
    assert (logged.segment_names[logged.segment[3]], logged.facts.unmatched_conversions) == ("t", 0)


@pytest.mark.parametrize(("click_hour", "counted"), [(2.99, 1), (3.0, 0), (7.5, 0), (9.5, 1), (10.0, 0), (50.0, 0)])
def test_a_click_counts_only_within_an_hour_that_was_logged(read, log_rows, click_hour, counted):
    decisions = [log_rows.decision("a", "s", hour) for hour in (0, 1, 2, 9)]
    feed = [log_rows.conversion("first", "a", "s", 0), log_rows.conversion("x", "a", "s", click_hour)]
    assert read(decisions, [], feed).conversions.sum() == 1 + counted


def test_conversions_of_clicks_outside_the_log_are_counted_and_not_added(read, log_rows):
    sales = [log_rows.conversion("x", "a", "s", -3), log_rows.conversion("y", "other", "s", 0)]
    logged = read([log_rows.decision("a", "s", 0)], [], sales)
    assert logged.facts.unmatched_conversions >= 1
    assert logged.conversions.sum() == 0


def test_days_are_those_of_the_account_also_in_hours_without_a_report(read, log_rows):
    decisions = [log_rows.decision("a", "s", hour) for hour in range(72)]
    reports = [log_rows.report("a", "s", hour) for hour in range(60)]
    logged = read(decisions, reports, keep_unreported=True)
    assert logged.facts.account_clock == "reports"
    first = log_rows.day_of(log_rows.START).toordinal()
    assert logged.account_day.tolist() == [first + hour // 24 for hour in range(72)]
    assert read(decisions, zone="America/Bogota").account_day.tolist() == logged.account_day.tolist()


def test_rows_are_sorted_by_campaign_hour_and_segment_and_can_be_cut(read, log_rows):
    cells = [(c, s, h) for h in (2, 0, 1) for s in "ts" for c in "ba"]
    logged = read([log_rows.decision(*cell) for cell in cells])
    order = list(zip(logged.campaign.tolist(), logged.hour_start.tolist(), logged.segment.tolist(), strict=True))
    assert order == sorted(order)
    part = keep_rows(logged, logged.campaign == 1)
    assert len(part) == 6
    assert len(np.unique(logged.campaign_day)) == 2


def test_campaigns_that_spent_without_a_decision_are_named(read, log_rows):
    reports = [log_rows.report("a", "s", 0), log_rows.report("ghost", "s", 0, spend_micros=9_000_000)]
    logged = read([log_rows.decision("a", "s", 0)], reports)
    assert logged.facts.spend_without_decisions_micros == {"ghost": 9_000_000}


def test_an_empty_store_gives_an_empty_log(read):
    assert len(read()) == 0


LATE = st.lists(st.tuples(st.integers(0, 23), st.integers(0, 3), st.integers(1, 400), st.integers(0, 9)), max_size=12)


@settings(max_examples=40)
@given(reports=LATE, sales=LATE, cut=st.integers(10, 200))
def test_nothing_reported_after_the_moment_changes_any_figure(read, log_rows, reports, sales, cut):
    decisions = [log_rows.decision("a", "s", hour) for hour in range(24)]
    first = [log_rows.report("a", "s", hour, reported_hours=1) for hour in range(24)]
    feed = [log_rows.conversion("first", "a", "s", 0, delay_hours=1)]
    as_of = log_rows.START + cut * log_rows.HOUR
    revised = [
        log_rows.report("a", "s", hour, 1 + number, delay, clicks=clicks)
        for number, (hour, _, delay, clicks) in enumerate(reports)
    ]
    sold = [
        log_rows.conversion(f"c{key}", "a", "s", hour, delay, number, value=value)
        for number, (hour, key, delay, value) in enumerate(sales)
    ]
    known = [[row for row in rows if row["reported_at"] <= as_of] for rows in ([*first, *revised], [*feed, *sold])]
    everything = read(decisions, [*first, *revised], [*feed, *sold], as_of=as_of)
    only_known = read(decisions, *known, as_of=as_of)
    for name in ("clicks", "spend_micros", "conversions", "value_micros"):
        reached = only_known.hour_start
        at = np.isin(everything.hour_start, reached)
        assert getattr(everything, name)[at].tolist() == getattr(only_known, name).tolist()
        assert len(everything) == len(only_known)
    assert everything.facts.newest_report is None or everything.facts.newest_report <= as_of


def test_days_are_mature_by_age_and_the_missing_share_is_estimated_from_the_delays(read, log_rows):
    rng = np.random.default_rng(7)
    hours, end = 24 * 30, log_rows.START + 24 * 30 * log_rows.HOUR
    clicks = rng.uniform(0, hours, 6_000)
    delays = rng.exponential(240.0, 6_000)  # most of them are not reported by the end
    sales = [
        log_rows.conversion(f"c{n}", "a", "s", float(click), float(delay))
        for n, (click, delay) in enumerate(zip(clicks, delays, strict=True))
        if click + delay <= hours
    ]
    decisions = [log_rows.decision("a", "s", hour) for hour in range(hours)]
    reports = [log_rows.report("a", "s", hour, reported_hours=1) for hour in range(hours)]
    maturity = comparable_days(read(decisions, reports, sales, as_of=end), mature_days=7)
    assert maturity.is_mature.sum() == 23
    ages = 24 * (29.5 - np.arange(30))
    expected = (1 - np.exp(-ages / 240)) / (1 - np.exp(-3))  # of what is reported within the 30 days
    assert np.abs(maturity.reported_share - expected).max() < 0.08
    assert maturity.missing_share == pytest.approx(1 - expected.mean(), abs=0.03)
    assert "23 of 30 days" in maturity.statement


def test_without_delays_the_missing_share_is_unknown_and_without_a_moment_nothing_is_said(read, log_rows):
    decisions = [log_rows.decision("a", "s", hour) for hour in range(48)]
    maturity = comparable_days(read(decisions), as_of=log_rows.START + 100 * log_rows.HOUR, mature_days=3)
    assert np.isnan(maturity.missing_share)
    assert "unknown" in maturity.statement
    with pytest.raises(BadInput, match="as_of"):
        comparable_days(read(decisions))


def test_a_synthesized_history_in_a_store_is_read_in_full(log_rows, tmp_path):
    store = DuckDbStore(tmp_path)
    store.append(log_rows.history(days=3))
    logged = read_logged(store, RowFilter())
    assert len(logged) == 3 * 24 * 4
    assert logged.spend_micros.sum() == 4_000_000 * len(logged)
    other = RowFilter(sources=("another",))
    assert len(read_logged(store, other)) == 0


@pytest.mark.slow
def test_a_million_rows_take_seconds(log_rows, tmp_path):
    rows, start = 1_000_000, np.datetime64("2026-03-02T05:00", "us")
    hour = np.arange(rows) // 1000
    columns = {
        "id": pa.array(np.arange(rows).astype(str)),
        "at": pa.array(start + hour * np.timedelta64(3_600_000_000, "us")).cast(pa.timestamp("us", tz="UTC")),
        "campaign": pa.array((np.arange(rows) % 100).astype(str)),
        "segment": pa.array((np.arange(rows) % 1000 // 100).astype(str)),
        "step": pa.array(hour, pa.int32()),
        "reported_at": pa.array(start + (hour + 4) * np.timedelta64(3_600_000_000, "us")).cast(
            pa.timestamp("us", tz="UTC")
        ),
    }
    texts = {"phase": "history", "source": "log", "episode": "e", "density_kind": "recorded", "account": "1"}
    tables = {}
    for name in (TableName.DECISIONS, TableName.HOUR_REPORTS):
        schema = TABLES[name].columns
        filled = [
            columns[field.name]
            if field.name in columns
            else pa.repeat(texts.get(field.name), rows).cast(pa.string())
            if field.type == pa.string()
            else pa.repeat(pa.scalar(1).cast(pa.int32()), rows).cast(field.type)
            for field in schema
        ]
        tables[name] = pa.table(filled, schema=schema)
    store = DuckDbStore(tmp_path)
    store.append(tables)
    began = time.process_time()
    assert len(read_logged(store, RowFilter())) == rows
    assert time.process_time() - began < 20
