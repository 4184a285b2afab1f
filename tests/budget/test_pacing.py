"""How much may be out by now, how fast it goes, and where the day ends: exact, and right where clocks change."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gaelp.budget.pacing import (
    EVEN,
    DayPlan,
    allowed_by_now_micros,
    plan_share,
    planned_between_micros,
)
from gaelp.errors import BadInput, MoneyError

BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")
MORNING = DayPlan(weights=(0,) * 6 + (3,) * 6 + (1,) * 12, why="mornings sell")
DAY = datetime(2026, 11, 16, tzinfo=UTC)
PLANS = st.builds(
    DayPlan,
    weights=st.lists(st.integers(0, 50), min_size=24, max_size=24).filter(any).map(tuple),
    why=st.just("any"),
)
SECONDS = st.integers(0, 86_400)


def at(hours, zone=UTC):
    return DAY.replace(tzinfo=zone).astimezone(UTC) + timedelta(hours=hours)


@pytest.mark.parametrize(("hours", "allowed"), [(0, 0), (6, 250), (12.5, 520), (24 - 1 / 3600, 999)])
def test_an_even_plan_allows_by_the_clock_rounded_down(hours, allowed):
    assert allowed_by_now_micros(1000, EVEN, at(hours), UTC) == allowed


def test_a_plan_by_the_hour_is_followed():
    assert [allowed_by_now_micros(3000, MORNING, at(hours), UTC) for hours in (5, 7, 12, 18)] == [0, 300, 1800, 2400]


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        (BERLIN, datetime(2026, 3, 29, tzinfo=BERLIN), 23),
        (BERLIN, datetime(2026, 10, 25, tzinfo=BERLIN), 25),
        (NEW_YORK, datetime(2026, 3, 8, tzinfo=NEW_YORK), 23),
        (ZoneInfo("Australia/Lord_Howe"), datetime(2026, 4, 5, tzinfo=ZoneInfo("Australia/Lord_Howe")), 24.5),
    ],
)
def test_a_day_whose_clocks_change_still_has_exactly_its_whole_plan(zone, day, hours):
    start = day.astimezone(UTC)
    end = start + timedelta(hours=hours)
    assert plan_share(EVEN, start, end, zone) == 1
    assert allowed_by_now_micros(1000, EVEN, end - timedelta(microseconds=1), zone) == 999
    with pytest.raises(BadInput, match="one account day"):
        plan_share(EVEN, start, end + timedelta(seconds=1), zone)


def test_the_day_is_the_accounts_and_not_utcs():
    late = datetime(2026, 11, 16, 23, 30, tzinfo=UTC)  # half past midnight in Berlin
    assert allowed_by_now_micros(4800, EVEN, late, BERLIN) == 100


@given(PLANS, SECONDS, SECONDS, st.integers(0, 10**12))
def test_more_time_never_allows_less_and_the_day_never_more_than_the_cap(plan, first, second, cap):
    sooner, later = sorted((first, second))
    allowed = [allowed_by_now_micros(cap, plan, at(seconds / 3600 * 0.999), UTC) for seconds in (sooner, later)]
    assert 0 <= allowed[0] <= allowed[1] <= cap


@given(PLANS, SECONDS, SECONDS)
def test_the_parts_of_a_day_add_up_exactly(plan, first, second):
    cuts = [DAY, *(DAY + timedelta(seconds=seconds) for seconds in sorted((first, second))), DAY + timedelta(days=1)]
    shares = [plan_share(plan, since, until, UTC) for since, until in pairwise(cuts) if since < at(24)]
    assert sum(shares) == 1


def test_what_a_span_is_planned_to_cost():
    assert planned_between_micros(3000, MORNING, at(6), at(8), UTC) == 600


@pytest.mark.parametrize("weights", [(0,) * 24, (1,) * 23, (-1,) + (1,) * 23])
def test_a_plan_needs_24_weights_and_one_above_zero(weights):
    with pytest.raises(ValidationError):
        DayPlan(weights=weights, why="test")


@pytest.mark.parametrize("cap", [1.5, -1, True])
def test_a_cap_is_whole_micros(cap):
    with pytest.raises(MoneyError):
        allowed_by_now_micros(cap, EVEN, at(1), UTC)


def test_an_instant_without_zone_is_refused():
    with pytest.raises(BadInput, match="no time zone"):
        allowed_by_now_micros(1, EVEN, datetime(2026, 11, 16), UTC)  # noqa: DTZ001 - the naive one is the point
    with pytest.raises(BadInput, match="time zone"):
        plan_share(EVEN, DAY, datetime(2026, 11, 16, 5), UTC)  # noqa: DTZ001 - the naive one is the point
