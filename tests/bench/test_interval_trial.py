import pytest

from gaelp.bench.interval_trial import Coverage, interval_trial, not_covered


def coverage(**changes):
    figures = {"estimator": "ips", "method": "student", "sample": "some", "claims": "two-sided", "logs": 2000}
    figures |= {"holds": 0.95, "lower_wrong": 0.03, "upper_wrong": 0.02, "mean_width": 1.0}
    return Coverage(**(figures | changes))


@pytest.mark.parametrize(
    ("changes", "broken"),
    [
        ({}, False),
        ({"holds": 0.92}, True),
        ({"holds": 0.98}, True),
        ({"holds": 0.5, "claims": "nothing"}, False),
        ({"claims": "lower", "holds": 1.0, "lower_wrong": 0.05}, False),
        ({"claims": "lower", "lower_wrong": 0.051}, True),
        ({"claims": "every look", "holds": 0.949}, True),
        ({"claims": "every look", "holds": 1.0}, False),
    ],
)
def test_an_interval_is_broken_if_it_does_not_keep_what_it_claims(changes, broken):
    assert bool(not_covered([coverage(**changes)])) is broken


def test_each_log_adds_one_look_for_every_interval_and_repeats():
    first, again = interval_trial(range(3)), interval_trial(range(3))
    assert first == again
    assert {result.logs for result in first} == {3}
    names = {(result.estimator, result.method) for result in first if result.claims != "nothing"}
    assert ("recalibrated lift over logging", "bootstrap") in names
    assert ("clipped-ips", "bernstein") in names
    assert ("ips", "sequence") in names
    assert all(result.mean_width > 0 for result in first)
