"""Days of an account in ticks: their hours, also where clocks change, and their weeks and months."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.sandbox.auctions.account_calendar import AccountCalendar

START = datetime(2026, 1, 1, tzinfo=UTC)
ZONES = ("America/New_York", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "UTC", "America/Santiago")


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("America/New_York", date(2026, 3, 8), [0, 1, *range(3, 24)]),
        ("America/New_York", date(2026, 11, 1), [0, 1, 1, *range(2, 24)]),
        ("Asia/Kolkata", date(2026, 5, 5), [*range(24)]),
    ],
)
def test_a_day_has_the_hours_its_clock_shows(zone, day, hours):
    assert AccountCalendar(START, ZoneInfo(zone)).day(day).hours.tolist() == hours


@given(st.sampled_from(ZONES), st.integers(0, 3 * 366 * 1440))
def test_every_tick_is_in_one_hour_of_the_day_its_clock_shows(zone, tick):
    day = AccountCalendar(START, ZoneInfo(zone)).day_at(tick)
    local = (START + timedelta(minutes=tick)).astimezone(ZoneInfo(zone))
    assert day.ordinal == local.date().toordinal()
    assert day.weekday == local.weekday()
    hour = int((day.ticks <= tick).sum()) - 1
    assert day.ticks[hour] <= tick < day.ticks[hour + 1]
    assert day.hours[hour] == local.hour


@given(st.sampled_from(ZONES), st.dates(date(2026, 1, 2), date(2029, 1, 1)))
def test_days_follow_one_another_and_belong_to_a_week_from_sunday_and_a_month(zone, day):
    calendar = AccountCalendar(START, ZoneInfo(zone))
    today, tomorrow = calendar.day(day), calendar.day(day + timedelta(days=1))
    assert today.ticks[-1] == tomorrow.ticks[0]
    assert date.fromordinal(today.week).weekday() == 6
    assert 0 <= today.ordinal - today.week < 7
    assert date.fromordinal(today.month) == day.replace(day=1)
    assert 0 <= today.ordinal - today.month < today.month_days
