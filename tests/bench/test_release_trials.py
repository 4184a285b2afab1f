"""Simulated releases: the pieces draw what they claim, use the code of a release, and find what was planted.

The whole measurement is bench/release_trials.py with 1,000 releases.
"""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from gaelp.bench import release_calendar
from gaelp.bench.release_calendar import CalendarCase, TrialCalendar, calendar_trial, planned_percent
from gaelp.bench.release_designs import adapting_control, carry_over, parallel_campaigns, wrong_value_model
from gaelp.bench.release_trials import TrialSize, first_looks, full_pairs, keeps, release_trials, share_found
from gaelp.bench.release_worlds import DAY_SPEND_MICROS, WORLDS, assigned_days
from gaelp.gates.lift_test import LiftPlan, lift_interval
from gaelp.release.exposure import ExposureState, next_exposure
from gaelp.release.exposure_checks import ReleaseEvidence
from gaelp.release.pairs import PairRules, ReleaseDays, compare_arms

PLAN = LiftPlan(alpha=0.05, minimum=100, clip_at=20)
SIZE = TrialSize(releases=20, campaigns=50, days=40, seed=3)
RULES = PairRules(unit_micros=DAY_SPEND_MICROS // 2, age_days_min=0)


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_without_a_lift_both_sides_of_every_world_return_the_same_and_with_one_the_treatment_returns_more(world):
    treated = assigned_days(0, 40, 50, np.full(60, 50.0))
    for lift in (0.0, 0.5):
        treatment, control = full_pairs(world.draw(np.random.default_rng(1), treated, 50, lift), treated, 40)
        assert treatment.shape == (40, 1500)
        assert treatment.sum() / control.sum() == pytest.approx(1 + lift, rel=0.06)


def test_pairs_of_releases_side_by_side_are_those_of_each_release_alone():
    treated = assigned_days(7, 3, 10, np.array([20.0] * 4 + [50.0] * 8))
    days = WORLDS[0].draw(np.random.default_rng(2), treated, 10, 0.0)
    together = full_pairs(days, treated, 3)
    for release in range(3):
        own = slice(10 * release, 10 * release + 10)
        alone = compare_arms(
            ReleaseDays(days.value_micros[:, own], days.spend_micros[:, own], treated[:, own]), RULES, PLAN
        ).pairs
        assert together[0][release][: len(alone.treatment)] == pytest.approx(alone.treatment)
        assert together[1][release][: len(alone.control)] == pytest.approx(alone.control)
        assert not together[0][release][len(alone.treatment) :].any()


def test_the_rules_agree_with_the_interval_that_a_release_computes():
    treated = assigned_days(1, 1, 50, np.full(40, 50.0))
    sides = full_pairs(WORLDS[0].draw(np.random.default_rng(4), treated, 50, 0.5), treated, 1)
    looks = first_looks(sides, PLAN, 0.5)
    for rule, asked in (("better: lower bound > 0", 0.0), ("lower bound >= 15%", 0.15)):
        at = int(looks[rule][0])
        assert lift_interval(sides[0][0, :at], sides[1][0, :at], PLAN).lower >= asked
        assert lift_interval(sides[0][0, : at - 1], sides[1][0, : at - 1], PLAN).lower < asked
    assert looks["point >= 15%, lower bound >= 5%"][0] <= looks["lower bound >= 15%"][0]


def test_an_identical_agent_is_kept_by_the_bounds_and_rolled_back_by_rules_that_peek():
    results = release_trials(PLAN, SIZE, WORLDS[:1], effects=(0.0, -0.3))
    of = results[WORLDS[0].name]
    assert of["+0%"]["worse: upper bound < 0"]["share"] <= 0.1
    assert of["+0%"]["raw: point < -5%"]["share"] > 0.2
    assert of["-30%"]["worse: upper bound < 0"]["share"] > 0.9
    assert keeps(results, "worse: upper bound < 0", 0.15) == []
    assert len(keeps(results, "raw: point < -5%", 0.05)) == 1


def test_a_share_that_is_never_reached_has_no_number_of_pairs():
    assert share_found(np.array([10, 0, 30, 20])) == {"share": 0.75, "median_pairs": 20, "pairs_80": None}


def test_a_release_ends_on_the_day_on_which_its_own_code_ends_it():
    calendar, case = TrialCalendar(releases=2, seed=11), CalendarCase(lift=-0.5)
    exposure = release_calendar._plan(calendar, PLAN)
    percent = planned_percent(exposure, calendar.days)
    assert percent[:13].tolist() == [0] * 4 + [10] * 4 + [25] * 4 + [50]
    treated = assigned_days(11, 2, calendar.campaigns, percent)
    sales = release_calendar._draw_sales(np.random.default_rng(5), treated, case, calendar)
    ended, ended_day, _ = release_calendar._judge_days(calendar, PLAN, treated, sales, 16)
    assert ended.tolist() == [-1, -1]
    for release in range(2):
        assert _day_of_rollback(release, calendar, exposure, (treated, sales)) == ended_day[release]


def _day_of_rollback(release, calendar, exposure, drawn):
    treated, sales = drawn
    own = slice(calendar.campaigns * release, calendar.campaigns * (release + 1))
    rules = PairRules(unit_micros=DAY_SPEND_MICROS // 2, age_days_min=calendar.mature_days)
    known, state = release_calendar._known_by_age(1.0, calendar.days), ExposureState()
    for day in range(calendar.days):
        days = sales.known(day)
        compared = compare_arms(
            ReleaseDays(
                days.value_micros[:, own],
                days.spend_micros[:, own],
                treated[:day, own],
                np.maximum(known[day - np.arange(day)], 0.05),
            ),
            rules,
            PLAN,
        )
        state = next_exposure(exposure, state, ReleaseEvidence(day, compared.lift, 0, 0, 1)).state
        if state.ended:
            return day
    return None


def test_late_sales_do_not_bias_what_is_known_on_average():
    calendar = TrialCalendar(releases=1, campaigns=2000, seed=1)
    treated = np.zeros((60, 2000), bool)
    sales = release_calendar._draw_sales(np.random.default_rng(6), treated, CalendarCase(), calendar)
    final = sales.early_micros.sum() + sales.late_micros.sum()
    share = release_calendar._known_by_age(1.0, 60)[30 - np.arange(23)]
    estimate = (sales.known(30).value_micros[:23] / share[:, None]).sum()
    assert estimate / 23 == pytest.approx(final / 60, rel=0.02)


def test_a_large_gain_is_promoted_before_the_deadline_and_no_gain_waits_for_it():
    assert calendar_trial(TrialCalendar(releases=10, seed=2), PLAN, CalendarCase(lift=1.0))["promoted"]["share"] == 1
    assert calendar_trial(TrialCalendar(releases=10, seed=2), PLAN, CalendarCase())["at_the_deadline"] >= 0.8


def test_a_value_model_that_flatters_one_side_is_noticed_and_promotes_only_by_its_own_figures():
    found = wrong_value_model(PLAN, SIZE, error=0.2)
    assert found["noticed"]["share"] >= 0.6
    assert found["promoted"]["share"] <= 0.1
    assert found["predicted"]["share"] >= 0.9


def test_sales_taken_from_the_next_day_look_like_a_gain():
    found = carry_over(PLAN, SIZE, lift=0.2, left=-1 / 6)
    assert found["true_lift"] == pytest.approx(0)
    assert found["shown_lift"] == pytest.approx(0.31, abs=0.04)


def test_a_control_that_is_still_being_scaled_looks_worse_until_it_has_shadow_days():
    size = TrialSize(releases=20, campaigns=50, days=20, seed=3)
    early, late = (adapting_control(PLAN, size, shadow_days=days)["shown_lift"] for days in (0, 14))
    assert early > late + 0.03


def test_parallel_campaigns_are_told_apart_by_a_large_gain():
    figures = parallel_campaigns(PLAN, SIZE, lift=0.5)
    assert figures["campaigns_pass"]["> 0%"] > 0.9
    assert figures["dollars"] == 50 * 40 * 25


def test_the_script_prints_every_part_and_fails_where_the_rate_is_not_kept(capsys):
    path = Path(__file__).resolve().parents[2] / "bench" / "release_trials.py"
    spec = importlib.util.spec_from_file_location("release_trials_script", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    code = script.main(["--releases", "8", "--days", "20", "--seed", "1", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert {"derived_limit", "limit_of_the_gate", "designs", "calendar"} <= set(report)
    assert list(report["derived_limit"]) == [world.name for world in WORLDS]
    assert code == bool(report["not_kept"])
