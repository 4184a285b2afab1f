from dataclasses import replace

import pytest

from gaelp.bench.calibration_trial import KINDS, coverage_trial, not_covered
from gaelp.bench.known_logs import true_values


def test_a_few_small_logs_hold_the_truth_in_most_intervals():
    kinds = {name: replace(truth, segments=8, days=4, per_hour=12.0) for name, truth in KINDS.items()}
    results = coverage_trial(range(4), kinds)
    assert set(results) <= set(true_values(KINDS["one_mode_all_won"]))
    inside = sum(result["coverage"] * result["logs"] for result in results.values())
    assert inside >= 0.85 * sum(result["logs"] for result in results.values())


def test_intervals_that_hold_the_truth_too_rarely_or_too_often_are_named():
    results = {
        "a": {"coverage": 0.95, "logs": 400},
        "b": {"coverage": 0.5, "logs": 400},
        "c": {"coverage": 1.0, "logs": 9},
    }
    assert [line.split(":")[0] for line in not_covered(results)] == ["b", "c"]


@pytest.mark.slow
def test_intervals_hold_the_truth_about_as_often_as_they_say():
    results = coverage_trial(range(880_000, 880_080))
    # Of 80 logs at 95%, fewer than 68 inside come up once in 2,000 trials.
    assert {path: result for path, result in results.items() if result["coverage"] < 0.85} == {}
    assert sum(result["coverage"] for result in results.values()) / len(results) > 0.92
