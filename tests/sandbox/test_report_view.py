"""Reports: hours appear late, are revised for days, and in the end add up to the events; days are the account's."""

from collections import defaultdict
from datetime import UTC, date, datetime, timedelta

import pytest

from gaelp.sandbox.serving import DEVICES

HOUR = timedelta(hours=1)
FIRST, LAST = date(2026, 10, 26), date(2026, 11, 20)


@pytest.fixture
def account(small_spec):
    return small_spec.customer_ids[0]


@pytest.fixture
def served(world, campaign):
    """A world with a campaign, at its start."""
    with world.call() as call:
        call.serve(campaign())
    return world


def read(world, what, account, first=FIRST, last=LAST):
    with world.call() as call:
        return getattr(call, what)(account, first, last)


def rows_of(connection, query):
    return connection.exec_driver_sql(query).all()


def test_an_hour_is_reported_once_it_has_been_over_for_the_lag(served, small_spec, account):
    lag = timedelta(hours=small_spec.reports.lag_hours)
    served.advance(small_spec.start + lag + 2 * HOUR - timedelta(minutes=1))
    assert {row.start for row in read(served, "report", account)} == {small_spec.start}
    with served.call() as call:
        assert call.reported_until(account) == small_spec.start + HOUR
    served.advance(small_spec.start + lag + 2 * HOUR)
    assert {row.start for row in read(served, "report", account)} == {small_spec.start, small_spec.start + HOUR}
    with served.call() as call:
        assert call.reported_until(account) == small_spec.start + 2 * HOUR
        assert all(click.at < call.reported_until(account) for click in call.clicks(account, FIRST, LAST))


def test_before_the_first_hour_is_reported_there_is_nothing(served, small_spec, account):
    with served.call() as call:
        assert call.reported_until(account) == small_spec.start
        assert call.report(account, FIRST, LAST) == []


def test_once_all_revisions_are_in_reports_add_up_to_the_events(served, small_spec, account, campaign):
    served.advance(small_spec.start + timedelta(days=4))
    with served.call() as call:
        call.serve(campaign(enabled=False))
    served.advance(small_spec.start + timedelta(days=120))
    report = read(served, "report", account)
    with served.at_rest() as (connection, _):
        events = {
            "impressions": rows_of(connection, "SELECT sum(impressions) FROM hour_total")[0][0],
            "clicks": rows_of(connection, "SELECT count(*) FROM click")[0][0],
            "cost": rows_of(connection, "SELECT sum(cost_micros) FROM click")[0][0],
            "credits": rows_of(connection, "SELECT count(*), sum(cost_micros) FROM credit")[0],
            "conversions": rows_of(connection, "SELECT count(*), sum(value_micros) FROM conversion")[0],
        }
    assert events["credits"][0] > 20
    assert events["conversions"][0] > 5
    assert sum(row.impressions for row in report) == events["impressions"]
    assert sum(row.clicks for row in report) == events["clicks"] - events["credits"][0]
    assert sum(row.cost_micros for row in report) == events["cost"] - events["credits"][1]
    assert sum(row.conversions for row in report) == events["conversions"][0]
    assert sum(row.value_micros for row in report) == events["conversions"][1]
    assert all(0 <= row.clicks <= row.impressions <= row.eligible and row.cost_micros >= 0 for row in report)


def test_clicks_are_revised_down_and_conversions_up_as_days_pass(served, small_spec, account):
    day = small_spec.start.date()
    seen = []
    for days in (2, 5, 30):
        served.advance(small_spec.start + timedelta(days=days))
        report = read(served, "report", account, day, day)
        seen.append((sum(row.clicks for row in report), sum(row.conversions for row in report)))
    (clicks, conversions), _, (later_clicks, later_conversions) = seen
    assert clicks > later_clicks
    assert conversions <= later_conversions
    assert [row[0] for row in seen] == sorted((row[0] for row in seen), reverse=True)


def test_each_row_is_the_hour_of_its_clicks(served, small_spec, account):
    served.advance(small_spec.start + timedelta(days=10))
    clicks, conversions = read(served, "clicks", account), read(served, "conversions", account)
    expected = defaultdict(lambda: [0, 0, 0.0])
    for click in clicks:
        if click.credited_at is None:
            key = (click.at.replace(minute=0), click.group, click.device)
            expected[key][0] += 1
            expected[key][1] += click.cost_micros
    device_of = {click.id: click.device for click in clicks}
    for sale in conversions:
        if sale.reported_at <= served.now() and sale.click in device_of:
            expected[sale.click_at.replace(minute=0), sale.group, device_of[sale.click]][2] += 1
    for row in read(served, "report", account):
        actual = [row.clicks, row.cost_micros, row.conversions]
        assert actual == expected[row.start, row.group, row.device], row
    assert {row.device for row in read(served, "report", account)} == set(DEVICES)


def test_the_sales_feed_has_sales_at_once_and_refunds_when_they_happen(served, small_spec, account):
    now = 20 * 1440
    served.advance(small_spec.start + timedelta(minutes=now))
    with served.at_rest() as (connection, _):
        drawn = rows_of(connection, "SELECT id, tick, reported_tick, refunded_tick FROM conversion")
    sales = {sale.id: sale for sale in read(served, "conversions", account)}
    assert sales.keys() == {row.id for row in drawn if row.tick <= now}
    assert len(sales) < len(drawn)  # some of the clicks so far become sales later
    assert any(row.tick <= now < row.reported_tick for row in drawn)
    assert any(sale.refunded_at for sale in sales.values())
    for row in drawn:
        if row.tick <= now:
            assert (sales[row.id].refunded_at is not None) == (0 <= row.refunded_tick <= now)
    assert all(sale.click_at < sale.at <= sale.reported_at for sale in sales.values())


def test_days_are_those_of_the_account_also_when_its_clocks_change(served, small_spec, account):
    served.advance(datetime(2026, 11, 5, tzinfo=UTC))
    for day, hours in ((date(2026, 10, 31), 24), (date(2026, 11, 1), 25), (date(2026, 11, 2), 24)):
        starts = sorted({row.start for row in read(served, "report", account, day, day)})
        assert len(starts) == hours
        assert {start.astimezone(small_spec.zone).date() for start in starts} == {day}


def test_an_account_sees_its_own_campaigns_alone(served, small_spec, campaign):
    other = small_spec.customer_ids[1]
    with served.call() as call:
        call.serve(campaign(id=2, account=other, product="shop.example/hats"))
    served.advance(small_spec.start + timedelta(days=3))
    for account, number in ((small_spec.customer_ids[0], 1), (other, 2)):
        for what in ("report", "clicks", "conversions"):
            assert {row.campaign for row in read(served, what, account)} <= {number}
        assert {row.campaign for row in read(served, "report", account)} == {number}


def test_bid_points_are_of_the_last_seven_complete_days(served, small_spec, account):
    served.advance(small_spec.start + timedelta(days=9, hours=5))
    with served.call() as call:
        points = call.bid_points(1, 10, [1_000_000, 3_000_000, 9_000_000])
    assert [point.bid_micros for point in points] == [1_000_000, 3_000_000, 9_000_000]
    assert points[0].impressions <= points[1].impressions <= points[2].impressions
    first, last = date(2026, 10, 28), date(2026, 11, 3)
    shown = sum(row.impressions for row in read(served, "report", account, first, last) if row.group == 10)
    assert points[1].impressions == pytest.approx(shown, rel=0.25, abs=10)
