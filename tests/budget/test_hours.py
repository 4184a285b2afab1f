"""The money figures of a campaign's hours: day, episode, last hours and week, and the same after a restart."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.budget.hours import CampaignCaps, HourCounts, SpendWindow, SpendWindowState

START = datetime(2026, 11, 16, tzinfo=UTC)
CAPS = CampaignCaps(day_cap_micros=4800, episode_cap_micros=100_000, loss_cap_micros=9000, conversion_value_micros=500)


def hour(spend, number, conversions=0, planned=100):
    return HourCounts(
        spend_micros=spend,
        planned_micros=planned,
        planned_left_micros=planned * (23 - number % 24),
        day_planned_micros=planned * 24,
        impressions=100,
        clicks=5,
        conversions=conversions,
    )


def observe(window, hours, first=0):
    for number, (spend, conversions) in enumerate(hours, start=first):
        ended = START + timedelta(hours=number + 1)
        window.observe(hour(spend, number, conversions), (START + timedelta(hours=number)).date(), ended)
    return window


def figures(window):
    return {name: reading.value for name, reading in window.readings().items()}


def test_the_day_starts_again_and_the_episode_does_not():
    actual = figures(observe(SpendWindow(CAPS), [(100, 0)] * 30))
    assert (actual["day_spend_micros"], actual["episode_spend_micros"]) == (600, 3000)


def test_the_last_hours_are_compared_with_their_plan():
    actual = figures(observe(SpendWindow(CAPS), [(100, 0)] * 12 + [(700, 0)] * 3))
    assert (actual["spend_3h_micros"], actual["planned_3h_micros"]) == (2100, 300)
    assert (actual["spend_6h_micros"], actual["spend_12h_micros"]) == (2400, 3000)
    assert actual["known_hours"] == 15
    assert actual["ahead_of_plan_micros"] == 1800
    assert actual["projected_day_micros"] == 3300 + 9 * 700


def test_at_night_two_average_hours_are_granted():
    window = SpendWindow(CAPS)
    quiet = hour(50, 3, planned=0).model_copy(update={"day_planned_micros": 2400})
    window.observe(quiet, START.date(), START)
    assert figures(window)["planned_3h_micros"] == 200


def test_loss_and_return_are_those_of_seven_days():
    actual = figures(observe(SpendWindow(CAPS), [(1000, 5)] * 24 + [(100, 0)] * 168))
    assert actual["week_loss_micros"] == 16_800
    assert actual["week_roi"] == -1
    actual = figures(observe(SpendWindow(CAPS), [(100, 1)] * 10))
    assert (actual["week_loss_micros"], actual["week_roi"]) == (-4000, 4)


def test_money_of_the_last_day_is_no_evidence_yet():
    assert figures(observe(SpendWindow(CAPS), [(500, 0)] * 24))["break_even_conversions"] == 0
    assert figures(observe(SpendWindow(CAPS), [(500, 0)] * 30))["break_even_conversions"] == 6


def test_before_the_first_hour_there_is_no_figure():
    assert SpendWindow(CAPS).readings() == {}


def test_a_reading_is_as_old_as_its_hour():
    window = observe(SpendWindow(CAPS), [(1, 0)] * 5)
    assert {reading.measured_at for reading in window.readings().values()} == {START + timedelta(hours=5)}


@given(st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 3)), max_size=200), st.integers(0, 200))
def test_a_stored_window_resumes_as_if_nothing_had_happened(hours, cut):
    whole = observe(SpendWindow(CAPS), hours[:cut])
    state = SpendWindowState.model_validate_json(whole.state().model_dump_json())
    again = SpendWindow(CAPS, state)
    for window in (whole, again):
        observe(window, hours[cut:], first=min(cut, len(hours)))
    assert figures(again) == figures(whole)


@pytest.mark.parametrize("plan", [0, 100])
def test_a_day_without_plan_projects_what_was_spent(plan):
    window = SpendWindow(CAPS)
    window.observe(hour(70, 23, planned=plan), START.date(), START)
    assert figures(window)["projected_day_micros"] == 70


def test_after_a_pause_pace_and_return_are_new_and_what_was_spent_and_lost_is_not():
    state = observe(SpendWindow(CAPS), [(1000, 0)] * 10).state().after_pause()
    assert figures(SpendWindow(CAPS, state))["known_hours"] == 0
    actual = figures(observe(SpendWindow(CAPS, state), [(100, 1)] * 2, first=12))
    assert (actual["known_hours"], actual["spend_12h_micros"], actual["week_roi"]) == (2, 200, 4)
    assert actual["week_loss_micros"] == 9200
    assert actual["episode_spend_micros"] == actual["day_spend_micros"] == 10_200
    later = figures(observe(SpendWindow(CAPS, state), [(100, 0)] * 168, first=12))
    assert (later["known_hours"], later["week_loss_micros"]) == (168, 16_800)


def test_money_spent_before_a_pause_does_not_count_towards_the_sample():
    state = observe(SpendWindow(CAPS), [(500, 0)] * 30).state().after_pause()
    assert figures(observe(SpendWindow(CAPS, state), [(500, 0)] * 20, first=30))["break_even_conversions"] == 0
