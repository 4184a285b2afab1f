"""Figures of a release: what was not measured is missing, and the record can be stored and read."""

import numpy as np
import pytest

from gaelp.release.exposure_checks import Feedback
from gaelp.release.pairs import ReleaseDays
from gaelp.release.release_metrics import ReleaseMetrics, ServiceCounts, measure_release


@pytest.fixture(scope="module")
def measured(release_cases):
    def measure(days, **counts):
        return measure_release(
            days,
            release_cases.RULES,
            release_cases.TEST,
            flights=release_cases.FLIGHTS,
            counts=ServiceCounts(**{"safety_violations": 0, **counts}),
        )

    return measure


def test_a_release_reports_its_lift_with_bounds_and_its_sample(measured, release_cases):
    found = measured(release_cases.release_days(lift=0.4))
    assert found.improvement.value == pytest.approx(0.4, abs=1e-4)
    assert found.improvement.lower_95 < 0.4 < found.improvement.upper_95
    assert found.metrics["paired_observations"] == release_cases.CAMPAIGNS * release_cases.DAYS / 2
    assert found.metrics["improvement_estimate"] == found.metrics["improvement"] == found.improvement.value
    assert found.metrics["campaigns"] == release_cases.CAMPAIGNS


@pytest.mark.parametrize("percent", [0, 100])
def test_where_nothing_was_compared_the_record_is_valid_and_has_no_improvement(measured, release_cases, percent):
    found = measured(release_cases.release_days(percent=percent, full_days=0))
    assert found.improvement.value is None
    assert "improvement" not in found.metrics
    assert found.metrics["paired_observations"] == 0
    assert ReleaseMetrics.model_validate_json(found.model_dump_json()) == found


def test_a_control_that_sold_nothing_leaves_no_estimate(measured, release_cases):
    days = release_cases.release_days()
    sold = ReleaseDays(np.where(days.treated, days.value_micros, 0), days.spend_micros, days.treated)
    found = measured(sold)
    assert found.improvement.value is None
    assert ReleaseMetrics.model_validate_json(found.model_dump_json()) == found


def test_too_few_pairs_have_an_estimate_and_no_upper_bound(measured, release_cases):
    found = measured(release_cases.release_days(days=4, full_days=0))
    assert found.improvement.value == pytest.approx(0.4, abs=1e-4)
    assert found.improvement.upper_95 is None
    assert "improvement_upper_95" not in found.metrics


def test_the_loss_is_of_all_treated_days_and_negative_where_they_earned(measured, release_cases):
    days = release_cases.release_days(lift=0.0, returns=0.8)
    spend = int(days.spend_micros[days.treated].sum())
    assert measured(days).loss_micros == pytest.approx(0.2 * spend, rel=1e-6)
    assert measured(release_cases.release_days()).loss_micros < 0


def test_errors_and_complaints_are_rates_where_they_were_counted(measured, release_cases):
    days = release_cases.release_days(days=4)
    quiet = measured(days)
    assert (quiet.error_rate, quiet.feedback_ratio) == (None, None)
    noisy = measured(days, decisions=200, errors=5, feedback=Feedback(30, 10_000, 10, 10_000))
    assert (noisy.error_rate, noisy.feedback_ratio) == (0.025, pytest.approx(3.0))
    assert measured(days, feedback=Feedback(3, 10_000, 0, 10_000)).feedback_ratio is None
