"""Hours by the account's clock: each is taken in once, in order, with its share of the plan, in any split."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaelp.budget.pacing import EVEN
from gaelp.budget.signals import load_signals
from gaelp.errors import GaelpError
from gaelp.platforms import CampaignHour
from gaelp.platforms.campaign_hours import (
    ObservedHours,
    Pace,
    caught_up,
    first_observed,
    first_whole_hour_end,
    hour_start,
    mark_paused,
    mark_running,
)

START = datetime(2026, 11, 16, tzinfo=UTC)
HOUR = timedelta(hours=1)
SIGNALS = load_signals()
DAILY = 24_000
BERLIN, KOLKATA = ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Kolkata")


def pace(zone=UTC, daily=DAILY):
    return Pace(EVEN, lambda _day: daily, zone)


def listed(number, cost=1000, conversions=0, start=START):
    return CampaignHour("spring", start + number * HOUR, cost, 100, 5, conversions)


def began(at=START, zone=UTC):
    return first_observed(at, zone, SIGNALS)


def up_to(actual, hours, as_of, zone=UTC, revised_days=2):
    return caught_up(actual, hours, as_of, pace(zone), SIGNALS, revised_days=revised_days)


def stored(actual):
    return ObservedHours.model_validate_json(actual.model_dump_json())


counts = st.tuples(st.integers(0, 10**9), st.integers(0, 10**5), st.integers(0, 10**3), st.integers(0, 20))


@settings(max_examples=40, deadline=None)
@given(
    hours=st.lists(st.none() | counts, min_size=1, max_size=60),
    cuts=st.lists(st.integers(0, 60 * 61), max_size=8),
    zone=st.sampled_from([UTC, BERLIN, KOLKATA]),
    days=st.integers(0, 3),
)
def test_any_split_of_the_hours_into_passes_gives_the_same_state(hours, cuts, zone, days):
    first = hour_start(datetime(2026, 10, 24, 9, tzinfo=UTC), zone)  # Berlin's clocks change on the 25th
    rows = [CampaignHour("spring", first + number * HOUR, *each) for number, each in enumerate(hours) if each]
    end = first + (len(hours) + 1) * HOUR
    whole = up_to(began(first, zone), rows, end, zone, days)
    split = began(first, zone)
    for cut in sorted(cuts):
        as_of = min(first + timedelta(minutes=cut), end)
        known = [row for row in rows if split.base.until <= row.start < as_of]
        split = stored(up_to(split, known, as_of, zone, days))
    assert stored(up_to(split, rows, end, zone, days)) == stored(whole)


def test_an_hour_is_taken_in_when_it_has_ended_and_counted_once():
    rows = [listed(0), listed(1)]
    actual = up_to(began(), rows, START + HOUR + timedelta(minutes=59))
    assert (actual.window.episode_spend_micros, actual.taken_until) == (1000, START + HOUR)
    assert up_to(actual, rows, START + HOUR + timedelta(minutes=59)) == actual
    assert up_to(actual, rows, START + 2 * HOUR).window.episode_spend_micros == 2000


# Revisions


def test_every_hour_of_a_day_that_is_open_is_counted_as_the_newest_report_has_it():
    actual = up_to(began(), [listed(0), listed(1)], START + 2 * HOUR)
    revised = stored(up_to(actual, [listed(0, cost=700), listed(1)], START + 40 * HOUR))
    assert [hour[0] for hour in revised.window.hours[:2]] == [700, 1000]
    assert revised.window.episode_spend_micros == 1700
    assert up_to(revised, [listed(0), listed(1)], START + 41 * HOUR).window.episode_spend_micros == 2000


def test_a_day_is_settled_so_many_days_after_its_end_and_not_read_again():
    rows = [listed(0), listed(24)]
    last = up_to(began(), rows, START + 71 * HOUR)
    assert last.base.until == START  # the first day ends after 24 hours, and stays open for 48 more
    assert up_to(last, [listed(0, cost=1), listed(24)], START + 71 * HOUR).window.episode_spend_micros == 1001
    settled = stored(up_to(last, rows, START + 73 * HOUR))
    assert settled.base.until == START + 24 * HOUR
    late = up_to(settled, [listed(0, cost=1), listed(24, cost=5)], START + 74 * HOUR)
    assert late.window.episode_spend_micros == 1005
    assert up_to(settled, [listed(24, cost=5)], START + 74 * HOUR).window.episode_spend_micros == 1005


@settings(max_examples=30, deadline=None)
@given(
    first=st.lists(st.integers(0, 10**6), min_size=30, max_size=30),
    second=st.lists(st.integers(0, 10**6), min_size=30, max_size=30),
    seen=st.integers(1, 30),
    pauses=st.lists(st.integers(1, 29), max_size=4, unique=True),
)
def test_what_a_report_revises_is_as_if_it_had_been_so_from_the_start(first, second, seen, pauses):
    def told(costs, until):
        return [listed(number, cost) for number, cost in enumerate(costs[:until])]

    def passes(before, after):
        actual, running = began(), True
        for number in range(1, 31):
            costs = before if number < seen else after
            actual = stored(up_to(actual, told(costs, number), START + number * HOUR))
            if number in pauses:
                at = START + number * HOUR + timedelta(minutes=5)
                actual, running = (mark_paused(actual) if running else mark_running(actual, at)), not running
        return actual

    assert passes(first, second) == passes(second, second)


def test_a_report_older_than_the_last_changes_nothing():
    actual = up_to(began(), [listed(0), listed(1)], START + 2 * HOUR + timedelta(minutes=10))
    assert up_to(actual, [listed(0, cost=1)], START + 2 * HOUR + timedelta(minutes=9)) == actual


def test_a_late_conversion_counts_once_in_the_hour_in_which_it_was_reported():
    actual = up_to(began(), [listed(0, conversions=1), listed(1)], START + 2 * HOUR)
    rows = [listed(0, conversions=3), listed(1), listed(2), listed(3)]
    late = stored(up_to(actual, rows, START + 4 * HOUR))
    assert [hour[2] for hour in late.window.hours] == [1, 0, 0, 2]
    assert up_to(late, rows, START + 5 * HOUR).window.hours[3:] == ((1000, 1000, 2), (0, 1000, 0))


def test_a_conversion_that_is_taken_back_is_gone():
    actual = up_to(began(), [listed(0, conversions=2), listed(1, conversions=1)], START + 2 * HOUR)
    less = up_to(actual, [listed(0), listed(1, conversions=1)], START + 2 * HOUR)
    assert [hour[2] for hour in less.window.hours] == [1, 0]


def test_a_state_from_before_hours_were_read_again_goes_on_from_where_it_was():
    old = began().model_dump(mode="json", exclude={"as_of", "settled", "changes", "conversions"})
    actual = ObservedHours.model_validate(old | {"taken_until": (START + HOUR).isoformat()})
    counted = up_to(mark_running(mark_paused(actual), START + HOUR), [listed(0), listed(1)], START + 2 * HOUR)
    assert [hour[0] for hour in counted.window.hours] == [1000]


def test_an_hour_that_is_not_listed_had_nothing():
    actual = up_to(began(), [listed(2)], START + 4 * HOUR)
    assert [hour[0] for hour in actual.window.hours] == [0, 0, 1000, 0]


def test_a_report_that_went_back_in_time_changes_nothing():
    actual = up_to(began(), [listed(0)], START + 2 * HOUR)
    assert up_to(actual, [], START + HOUR) == actual


@pytest.mark.parametrize(("day", "hours"), [(date(2026, 3, 29), 23), (date(2026, 10, 25), 25), (date(2026, 6, 1), 24)])
def test_the_plan_of_a_day_is_spent_by_its_end_where_clocks_change_too(day, hours):
    midnight = datetime(day.year, day.month, day.day, tzinfo=BERLIN).astimezone(UTC)
    actual = up_to(began(midnight, BERLIN), [], midnight + hours * HOUR, BERLIN)
    assert len(actual.window.hours) == hours
    assert DAILY - hours <= sum(hour[1] for hour in actual.window.hours) <= DAILY
    assert (actual.window.day, actual.window.planned_left_micros) == (day, 0)
    after = up_to(actual, [], midnight + (hours + 1) * HOUR, BERLIN)
    assert after.window.day == day + timedelta(days=1)


def test_hours_are_those_of_the_accounts_clock():
    half_past = datetime(2026, 11, 16, 6, 30, tzinfo=UTC)  # noon in Kolkata
    actual = began(half_past + timedelta(minutes=20), KOLKATA)
    assert actual.taken_until == half_past
    assert first_whole_hour_end(half_past + timedelta(minutes=20), KOLKATA) == half_past + 2 * HOUR
    assert first_whole_hour_end(half_past, KOLKATA) == half_past + HOUR


def test_of_the_hour_it_was_first_seen_in_the_money_counts_and_the_plan_from_then_on():
    actual = up_to(began(START + timedelta(minutes=45)), [listed(0)], START + HOUR)
    assert actual.window.hours == ((1000, 250, 0),)


def test_the_time_a_campaign_stood_still_is_no_zeros_and_what_came_late_counts():
    actual = up_to(began(), [listed(0), listed(1)], START + 2 * HOUR)
    rows = [listed(0), listed(1), listed(2), listed(6, cost=0, conversions=1)]
    actual = up_to(mark_paused(actual), rows, START + 10 * HOUR)
    assert actual.window.hours == ((1000, 1000, 0), (1000, 1000, 0), (1000, 1000, 0), (0, 0, 1))
    assert actual.taken_until == START + 10 * HOUR
    resumed = up_to(mark_running(actual, START + 20 * HOUR), [*rows, listed(20)], START + 22 * HOUR)
    assert [hour[0] for hour in resumed.window.hours] == [1000, 1000, 1000, 0, 1000, 0]
    assert (resumed.window.hours_since_pause, resumed.window.episode_spend_micros) == (2, 4000)


def test_who_runs_on_does_not_begin_anew():
    actual = up_to(began(), [listed(0)], START + HOUR)
    assert mark_running(actual, START + 5 * HOUR) == actual


def test_half_hours_of_an_hour_are_added_up():
    halves = [listed(0), CampaignHour("spring", START + HOUR / 2, 500, 1, 1, 1)]
    assert up_to(began(), halves, START + HOUR).window.hours == ((1500, 1000, 1),)


def test_the_targets_of_a_campaign_are_added_up():
    targets = [CampaignHour("spring", START, cost, 1, 1, 1, target) for cost, target in ((500, "a"), (700, "b"))]
    assert up_to(began(), targets, START + HOUR).window.hours == ((1200, 1000, 2),)
    with pytest.raises(GaelpError, match="of a twice"):
        up_to(began(), [*targets, targets[0]], START + HOUR)


@pytest.mark.parametrize(
    "bad",
    [
        [listed(0), listed(0)],
        [listed(0, cost=-1)],
        [listed(0, cost=1.0)],
        [listed(0, cost=True)],
        [listed(0, conversions=None)],
        [listed(0, start=START.replace(tzinfo=None))],
    ],
)
def test_a_report_that_cannot_be_is_refused(bad):
    with pytest.raises(GaelpError, match=r"the report (contains|lists)"):
        up_to(began(), bad, START + HOUR)
