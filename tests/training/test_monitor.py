import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from gaelp.checks import Goal
from gaelp.errors import BadInput, DataError
from gaelp.training.monitor import MonitorSpec, PerformanceMonitor, goal_report, monitor_figures

SPEC = MonitorSpec()
SEEDS = st.integers(0, 2**32 - 1)


def watched(values, *, spec=SPEC, goals=(), name="reward"):
    monitor = PerformanceMonitor(spec, goals)
    for value in values:
        monitor.record({name: float(value)})
    return monitor


def only_series(monitor):
    [series] = monitor.report().series
    return series


def noise(seed, count, *, autocorrelation=0.0):
    shocks = np.random.default_rng(seed).normal(size=count)
    shocks[0] /= math.sqrt(1 - autocorrelation**2)
    for index in range(1, count):
        shocks[index] += autocorrelation * shocks[index - 1]
    return shocks


# Trend


def false_alarm_rate(count, autocorrelation):
    verdicts = [
        only_series(watched(noise(seed, count, autocorrelation=autocorrelation))).long.trend for seed in range(600)
    ]
    return sum(verdict in {"rising", "falling"} for verdict in verdicts) / len(verdicts)


# The measured 3%, 4% and 7%, with three standard errors of 600 series; the plain test has 31% at 0.6.
@pytest.mark.parametrize(
    ("count", "autocorrelation", "at_least", "at_most"),
    [(10, 0.0, 0.01, 0.065), (50, 0.0, 0.015, 0.07), (50, 0.6, 0.03, 0.12)],
)
def test_without_a_trend_the_alarm_comes_about_as_often_as_alpha_allows(count, autocorrelation, at_least, at_most):
    assert at_least <= false_alarm_rate(count, autocorrelation) <= at_most


@given(seed=SEEDS, sign=st.sampled_from([1, -1]), scale=st.floats(1e-3, 1e3), offset=st.floats(-10, 10))
@settings(max_examples=50, deadline=None)
def test_a_planted_trend_is_found_with_its_direction_and_slope(seed, sign, scale, offset):
    slope = sign * 0.2
    values = scale * (offset + slope * np.arange(50) + noise(seed, 50))
    window = only_series(watched(values)).long
    assert window.trend == ("rising" if sign > 0 else "falling")
    assert window.slope_per_record == pytest.approx(scale * slope, abs=scale * 0.08)
    assert window.p_value < SPEC.alpha


@given(st.lists(st.integers(-3, 3), min_size=8, max_size=60))
@settings(max_examples=60, deadline=None)
def test_the_mirror_image_of_a_series_has_the_mirrored_verdict(values):
    mirrored = {"rising": "falling", "falling": "rising", "flat": "flat"}
    up, down = only_series(watched(values)).long, only_series(watched([-value for value in values])).long
    assert down.trend == mirrored[up.trend]
    assert down.slope_per_record == -up.slope_per_record
    assert 0 <= up.p_value <= 1


def test_the_p_value_of_independent_points_is_the_textbook_one():
    # 6 of 28 pairs fall. The residuals swing up and down, which must not narrow the variance.
    window = only_series(watched([1, 5, 2, 6, 3, 7, 4, 8])).long
    score, variance = 28 - 2 * 6, 8 * 7 * 21 / 18
    z = (score - 1) / math.sqrt(variance)
    assert window.p_value == pytest.approx(math.erfc(z / math.sqrt(2)))


def test_one_wild_evaluation_makes_no_trend():
    values = [0.70, 0.71, 0.69, 0.70, 0.72, 0.69, 0.71, 0.70, 0.69, 1e6]
    window = only_series(watched(values)).short
    assert window.trend == "flat"
    assert abs(window.slope_per_record) < 0.01


def test_equal_evaluations_are_flat_and_not_odd():
    window = only_series(watched([0.7] * 60)).long
    assert (window.trend, window.slope_per_record, window.p_value) == ("flat", 0.0, 1.0)
    assert (window.anomaly, window.anomaly_z) == ("none", 0.0)


def test_below_the_minimum_count_there_is_no_verdict_but_a_mean():
    window = only_series(watched(range(SPEC.trend_minimum - 1))).long
    assert (window.trend, window.slope_per_record, window.p_value) == ("too little data", None, None)
    assert window.mean == 3.0
    assert only_series(watched(range(SPEC.trend_minimum))).long.trend == "rising"


def test_the_short_window_forgets_what_the_long_one_still_sees():
    rise_then_rest = [*range(40), *([40, 39] * 5)]
    series = only_series(watched(rise_then_rest))
    assert (series.short.trend, series.long.trend) == ("flat", "rising")
    assert (series.short.count, series.long.count) == (10, 50)
    assert series.short.mean == 39.5


def test_the_slope_counts_evaluations_that_lacked_the_metric():
    monitor = PerformanceMonitor(SPEC)
    for number in range(20):
        monitor.record({"reward": float(number)} if number % 2 == 0 else {"other": 1.0})
    reward = next(series for series in monitor.report().series if series.name == "reward")
    assert reward.long.slope_per_record == pytest.approx(1.0)
    assert (reward.last_record, reward.long.count) == (19, 10)


# Anomaly


@given(shift=st.integers(0, 3), count=st.integers(SPEC.anomaly_minimum, 70), size=st.sampled_from([-1, 1]))
@settings(max_examples=50, deadline=None)
def test_a_planted_spike_is_found_on_its_side_and_at_its_own_evaluation_only(shift, count, size):
    values = 10 + np.resize(np.roll([-1.0, 0.5, -0.5, 1.0], shift), count)
    monitor = watched([*values, 10 + size * 30])
    series = only_series(monitor)
    assert {series.short.anomaly, series.long.anomaly} == {"high" if size > 0 else "low"}
    monitor.record({"reward": 10.0})
    assert only_series(monitor).short.anomaly == "none"


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=SPEC.anomaly_minimum))
@settings(max_examples=50, deadline=None)
def test_the_first_points_are_never_odd_whatever_they_are(values):
    series = only_series(watched(values))
    assert (series.short.anomaly, series.long.anomaly) == ("too little data", "too little data")
    assert series.long.anomaly_z is None


def test_jitter_after_equal_evaluations_stays_below_the_floor_of_the_scale():
    assert only_series(watched([*[0.7] * 20, 0.72])).long.anomaly == "none"
    assert only_series(watched([*[0.7] * 20, 0.78])).long.anomaly == "high"
    assert only_series(watched([*[0.0] * 20, 1e-7])).long.anomaly == "none"


# Goals

LIFT = Goal(metric="lift", at_least=0.05, compare="lower_95")
VIOLATIONS = Goal(metric="violations", at_most=0, compare="value")


def test_the_distance_to_a_goal_is_signed_and_compares_the_bound_that_was_named():
    monitor = PerformanceMonitor(SPEC, (LIFT, VIOLATIONS))
    monitor.record({"lift": 0.30, "lift_lower_95": 0.02, "violations": 2.0})
    lift, violations = monitor.report().goals
    assert (lift.value, lift.met) == (0.02, False)
    assert lift.distance == pytest.approx(-0.03)
    assert (violations.distance, violations.met) == (-2.0, False)
    monitor.record({"lift": 0.30, "lift_lower_95": 0.05, "violations": 0.0})
    assert [(goal.distance, goal.met) for goal in monitor.report().goals] == [(0.0, True), (0.0, True)]


def test_above_a_threshold_is_not_at_it():
    above = Goal(metric="lift", above=0, compare="value")
    assert [goal_report(above, {"lift": value}).met for value in (-0.1, 0.0, 0.1)] == [False, False, True]


@pytest.mark.parametrize("metrics", [{}, {"lift": 0.9}, {"lift_lower_95": math.nan}, {"lift_lower_95": math.inf}])
def test_a_goal_without_a_figure_is_not_met(metrics):
    report = goal_report(LIFT, metrics)
    assert (report.value, report.distance, report.met) == (None, None, False)


def test_a_figure_of_an_earlier_evaluation_meets_no_goal():
    monitor = PerformanceMonitor(SPEC, (LIFT,))
    assert not monitor.report().goals[0].met
    monitor.record({"lift_lower_95": 0.9})
    assert monitor.report().goals[0].met
    monitor.record({"reward": 0.9})
    assert not monitor.report().goals[0].met


@pytest.mark.parametrize(
    ("bound", "compare"), [("above", "upper_95"), ("at_least", "upper_95"), ("at_most", "lower_95")]
)
def test_a_goal_that_compares_the_hopeful_bound_is_refused(bound, compare):
    with pytest.raises(ValidationError, match="hopeful"):
        Goal(metric="lift", **{bound: 0}, compare=compare)


# Curves


def test_goals_trends_and_oddness_become_figures_that_can_be_drawn():
    goal = Goal(metric="reward", at_least=0.5, compare="value")
    absent = Goal(metric="lift", at_least=0, compare="value")
    figures = monitor_figures(watched([0.1 * point for point in range(12)], goals=(goal, absent)).report())
    assert figures["goals/reward"] == pytest.approx(0.6)
    assert "goals/lift" not in figures
    assert figures["trend/reward_last_10"] == pytest.approx(0.1)
    assert figures["trend/reward_last_50"] == pytest.approx(0.1)
    assert "anomaly/reward_last_10" in figures
    assert monitor_figures(PerformanceMonitor(SPEC).report()) == {}


# Input and state


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_is_refused_by_name_and_nothing_of_its_evaluation_is_kept(value):
    monitor = watched([0.5])
    before = monitor.state()
    with pytest.raises(BadInput, match=r"kl=(nan|-?inf): allowed are finite numbers"):
        monitor.record({"reward": 1.0, "kl": value})
    assert monitor.state() == before


@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.floats(-1e9, 1e9)), max_size=70), st.integers(0, 70))
@settings(max_examples=40, deadline=None)
def test_a_monitor_that_was_saved_and_loaded_goes_on_like_one_that_never_stopped(evaluations, cut):
    whole, first = PerformanceMonitor(SPEC, (LIFT,)), PerformanceMonitor(SPEC, (LIFT,))
    for metrics in evaluations:
        whole.record(metrics)
    for metrics in evaluations[:cut]:
        first.record(metrics)
    second = PerformanceMonitor(SPEC, (LIFT,))
    second.load_state(json.loads(json.dumps(first.state())))
    for metrics in evaluations[cut:]:
        second.record(metrics)
    assert second.report() == whole.report()
    assert second.state() == whole.state()


def test_memory_is_bounded_by_the_long_window():
    [points] = watched(range(500)).state()["series"].values()
    assert len(points) == SPEC.long_window + 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "version 2"),
        ({"records": -1}, "records"),
        ({"extra": 1}, "extra"),
        ({"series": {"reward": [[1, "high"]]}}, "reward"),
        ({"series": {"reward": [[2, 1.0], [1, 1.0]]}}, "'reward' holds the evaluations"),
        ({"series": {"reward": [[4, 1.0]]}}, "of 3"),
        ({"series": {"reward": []}}, "at least one"),
        ({"series": {"reward": [[1, math.nan]]}}, "reward"),
        ({"series": {"reward": [[1, {1}]]}}, "more than plain data"),
    ],
)
def test_a_state_that_does_not_fit_is_refused_and_changes_nothing(change, message):
    monitor = watched([1, 2, 3])
    before = monitor.state()
    with pytest.raises(DataError, match=message):
        monitor.load_state(before | change)
    assert monitor.state() == before


@pytest.mark.parametrize(
    "change", [{"short_window": 9}, {"long_window": 10}, {"alpha": 0}, {"trend_minimum": 4}, {"anomaly_z": 0}]
)
def test_a_spec_whose_windows_or_limits_do_not_fit_is_refused(change):
    with pytest.raises(ValidationError):
        MonitorSpec(**change)
