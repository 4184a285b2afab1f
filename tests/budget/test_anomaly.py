"""A robust score that a spike cannot hide from, and a drift detector; both resume exactly from a stored state."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gaelp.budget.anomaly import Drift, DriftSettings, DriftState, RobustZ, RobustZSettings, RobustZState
from gaelp.errors import DataError

Z = RobustZSettings(window=50, minimum_points=10, scale_floor=0.5)
DRIFT = DriftSettings(delta=0.002, low=-2.5, high=2.5, longest=256)
POINTS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=80)


def normal(count, seed=1, mean=0.0):
    return np.random.default_rng(seed).normal(mean, 1, count).tolist()


def fed(detector, points):
    return [detector.update(point) for point in points]


def test_below_the_minimum_count_there_is_no_score():
    scores = fed(RobustZ(Z), normal(12))
    assert scores[:10] == [None] * 10
    assert None not in scores[10:]


def test_a_point_is_no_part_of_its_own_yardstick():
    detector = RobustZ(Z)
    fed(detector, [-1.0, 1.0] * 5)
    assert detector.update(100.0) == pytest.approx(100 / 1.4826)


def test_a_spike_in_the_past_does_not_hide_the_next_one():
    detector = RobustZ(Z)
    fed(detector, normal(40))
    first, second = detector.update(50.0), detector.update(50.0)
    assert second > 0.8 * first > 20


def test_a_calm_history_makes_no_alarm_of_a_ripple():
    detector = RobustZ(Z)
    fed(detector, [3.0] * 30)
    assert detector.update(3.25) == 0.5


def test_only_the_window_is_remembered():
    detector = RobustZ(Z)
    fed(detector, [1000.0] * 100)
    fed(detector, normal(50))
    assert abs(detector.update(0.0)) < 1
    assert len(detector.state().points) == 50


@given(POINTS, st.integers(0, 80))
def test_a_stored_score_resumes_as_if_nothing_had_happened(points, cut):
    whole = RobustZ(Z)
    before = fed(whole, points[:cut])
    state = RobustZState.model_validate_json(whole.state().model_dump_json())
    again = RobustZ.restored(Z, state)
    assert fed(again, points[cut:]) == fed(whole, points[cut:])
    assert len(before) == min(cut, len(points))


@given(POINTS)
def test_every_score_is_finite_and_grows_with_the_point(points):
    detector = RobustZ(Z)
    fed(detector, points)
    state = detector.state()
    low, high = (RobustZ.restored(Z, state).update(point) for point in (0.0, 1.0))
    assert (low is None) == (len(points) < 10)
    assert low is None or (math.isfinite(low) and low < high)


def test_a_steady_stream_shows_no_drift_and_a_moved_one_does_with_its_size():
    false_alarms = sum(any(fed(Drift(DRIFT), normal(400, seed))) for seed in range(20))
    assert false_alarms <= 1
    detector = Drift(DRIFT)
    fed(detector, normal(100))
    moved = fed(detector, normal(60, seed=2, mean=2.0))
    assert any(move > 0.3 for move in moved)


def test_the_direction_of_a_drift_is_reported():
    detector = Drift(DRIFT)
    fed(detector, normal(100))
    assert min(fed(detector, normal(60, seed=2, mean=-2.0))) < -0.3


def test_a_stored_drift_resumes_as_if_nothing_had_happened():
    points = [*normal(100), *normal(100, 2, 2.0), *normal(300, 3, -1.0)]
    for cut in (0, 5, 100, 130, 260, 480):
        whole = Drift(DRIFT)
        fed(whole, points[:cut])
        again = Drift.restored(DRIFT, DriftState.model_validate_json(whole.state().model_dump_json()))
        assert fed(again, points[cut:]) == fed(whole, points[cut:])


def test_the_state_stays_small():
    detector = Drift(DRIFT)
    fed(detector, normal(2000))
    assert len(detector.state().points) < 256
    assert len(detector.state().model_dump_json()) < 8000


@pytest.mark.parametrize("detector", [RobustZ(Z), Drift(DRIFT)], ids=["z", "drift"])
@pytest.mark.parametrize("point", [math.nan, math.inf])
def test_a_point_that_was_not_measured_is_refused_and_leaves_no_trace(detector, point):
    before = detector.state()
    with pytest.raises(DataError, match="leave out what was not measured"):
        detector.update(point)
    assert detector.state() == before


@pytest.mark.parametrize(
    ("model", "values"),
    [
        (RobustZSettings, {"window": 5, "minimum_points": 6, "scale_floor": 1.0}),
        (RobustZSettings, {"window": 5, "minimum_points": 5, "scale_floor": 0.0}),
        (DriftSettings, {"delta": 0.01, "low": 1, "high": 1, "longest": 128}),
        (DriftSettings, {"delta": 0.0, "low": 0, "high": 1, "longest": 128}),
    ],
)
def test_settings_that_cannot_work_are_refused(model, values):
    with pytest.raises(ValidationError):
        model(**values)
