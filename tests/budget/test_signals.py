"""Hourly counts become scores: quiet on a steady campaign, loud on what is planted, the same after a restart."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from gaelp.budget.hours import HourCounts
from gaelp.budget.signals import CampaignWatch, WatchState, load_signals

START = datetime(2026, 11, 1, tzinfo=UTC)
SETTINGS = load_signals()


def hours(count, seed=3, *, size=20.0, spend=1.0, ctr=0.02, conversion_rate=0.05):
    """Hours with about `size` clicks each at one unit of money a click."""
    rng = np.random.default_rng(seed)
    clicks = rng.poisson(size * spend, count)
    conversions = rng.poisson(clicks * conversion_rate)
    return [
        HourCounts(
            spend_micros=int(number) * 1_000_000,
            planned_micros=int(size * 1_000_000),
            planned_left_micros=0,
            day_planned_micros=int(size * 24_000_000),
            impressions=int(number / ctr),
            clicks=int(number),
            conversions=int(converted),
        )
        for number, converted in zip(clicks, conversions, strict=True)
    ]


def watched(given, watch=None, first=0):
    """Feed hours; returns the watch and every figure it showed, hour by hour."""
    watch = watch or CampaignWatch(SETTINGS)
    shown = []
    for number, each in enumerate(given, start=first):
        watch.observe(each, START + timedelta(hours=number + 1))
        shown.append({name: reading.value for name, reading in watch.readings().items()})
    return watch, shown


@pytest.mark.parametrize("size", [2.0, 20.0, 500.0])
def test_a_steady_campaign_of_any_size_stays_quiet(size):
    _, shown = watched(hours(700, size=size))
    for name, limit in (("spend_z", 6), ("ctr_z", 4.3), ("cpa_z", 5), ("expected_conversions_missed", 14)):
        assert max(figures[name] for figures in shown) < limit
    assert shown[-1]["spend_points"] > 500


def test_nothing_is_scored_before_there_is_a_past():
    _, shown = watched(hours(40))
    assert {figures["spend_points"] for figures in shown} == {0}
    assert {figures["spend_z"] for figures in shown} == {0.0}


@pytest.mark.parametrize(
    ("name", "limit", "fault", "within"),
    [
        ("spend_z", 9, {"spend": 6.0}, 2),
        ("ctr_z", 4.3, {"ctr": 0.1}, 6),
        ("cpa_z", 4, {"conversion_rate": 0.0}, 40),
        ("expected_conversions_missed", 14, {"conversion_rate": 0.0}, 24),
        ("ctr_drift", 0.5, {"ctr": 0.04}, 120),
        ("cpa_drift", 0.5, {"conversion_rate": 0.0125, "size": 200.0}, 200),
        ("spend_drift", 1, {"spend": 1.8}, 120),
    ],
)
def test_a_planted_fault_shows_in_its_own_figure(name, limit, fault, within):
    watch, before = watched(hours(336, size=fault.get("size", 20.0)))
    _, after = watched(hours(within, seed=4, **fault), watch, first=336)
    assert max(figures[name] for figures in before) < limit < max(figures[name] for figures in after)


def test_a_drift_stays_in_the_readings_for_a_day_and_no_longer():
    watch, _ = watched(hours(336))
    _, after = watched(hours(200, seed=4, spend=1.8), watch, first=336)
    lit = [bool(figures["spend_drift"]) for figures in after]
    assert sum(lit) >= 24
    assert not lit[-1]


def test_a_conversion_ends_the_count_of_missed_ones():
    watch, _ = watched(hours(336))
    _, after = watched([*hours(10, conversion_rate=0.0), *hours(1, conversion_rate=1.0)], watch, first=336)
    missed = [figures["expected_conversions_missed"] for figures in after]
    assert missed == [*sorted(missed[:-1]), 0.0]


def test_a_stored_watch_resumes_as_if_nothing_had_happened():
    given = [*hours(200), *hours(100, seed=5, ctr=0.06, spend=2.0)]
    for cut in (0, 1, 61, 200, 230):
        watch, _ = watched(given[:cut])
        again = CampaignWatch(SETTINGS, WatchState.model_validate_json(watch.state().model_dump_json()))
        assert watched(given[cut:], again, cut)[1] == watched(given[cut:], watch, cut)[1]


def test_the_state_of_a_month_is_small():
    watch, _ = watched(hours(720))
    assert len(watch.state().model_dump_json()) < 40_000


def test_before_the_first_hour_there_is_no_figure():
    assert CampaignWatch(SETTINGS).readings() == {}


def test_hours_in_which_nothing_was_planned_and_nothing_happened_leave_the_scale_alone():
    watch, _ = watched(hours(336))
    nothing = HourCounts(
        spend_micros=0,
        planned_micros=0,
        planned_left_micros=0,
        day_planned_micros=0,
        impressions=0,
        clicks=0,
        conversions=0,
    )
    before = watch.state().signals["spend"].z
    watched([nothing] * 50, watch, first=336)
    assert watch.state().signals["spend"].z == before


def test_after_a_pause_what_was_found_is_settled_and_what_is_usual_is_known():
    watch, _ = watched(hours(336))
    _, result = watched(hours(24, seed=4, ctr=0.1, conversion_rate=0.0), watch, first=336)
    assert (result[-1]["ctr_z"] > 4, result[-1]["expected_conversions_missed"] > 1) == (True, True)
    resumed = CampaignWatch(SETTINGS, watch.state().after_pause())
    figures = {name: reading.value for name, reading in resumed.readings().items()}
    assert (figures["ctr_z"], figures["expected_conversions_missed"], figures["ctr_drift"]) == (0, 0, 0)
    assert figures["ctr_points"] == result[-1]["ctr_points"]
    _, again = watched(hours(24, seed=5, ctr=0.1, conversion_rate=0.0), resumed, first=360)
    assert max(figures["ctr_z"] for figures in again) > 2


def test_clicks_without_any_impression_are_no_rate():
    odd = HourCounts(
        spend_micros=100,
        planned_micros=100,
        planned_left_micros=0,
        day_planned_micros=2400,
        impressions=0,
        clicks=50,
        conversions=0,
    )
    _, actual = watched([odd] * 5)
    assert actual[-1]["ctr_points"] == 0
