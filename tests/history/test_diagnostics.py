import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.errors import DataError
from gaelp.history.diagnostics import (
    SupportLimits,
    agreement_of,
    diagnose_weights,
    doubts_about_support,
    effective_sample_size,
    negative_control,
)
from gaelp.history.estimators import inverse_propensity, self_normalised
from gaelp.history.intervals import student_interval
from gaelp.history.policy_value import mean_value


@given(count=st.integers(1, 50), scale=st.floats(1e-6, 1e6))
def test_equal_weights_count_fully_and_a_single_weight_counts_once(count, scale):
    assert effective_sample_size(np.full(count, scale)) == pytest.approx(count)
    assert effective_sample_size([scale] + [0.0] * count) == pytest.approx(1)


def good_weights():
    return np.random.default_rng(1).lognormal(-0.08, 0.4, 5000)


def test_weights_of_a_log_with_support_raise_no_doubt():
    figures = diagnose_weights(good_weights(), np.arange(5000) // 50, inside_support=np.ones(5000))
    assert figures.clusters == 100
    assert figures.mean_weight_lower_95 < 1 < figures.mean_weight_upper_95
    assert doubts_about_support(figures, SupportLimits()) == ()


@pytest.mark.parametrize(
    ("weight", "clusters", "inside", "message"),
    [
        (good_weights(), np.arange(5000) // 1000, None, "5 clusters of at least 20"),
        (good_weights()[:150], np.arange(150), None, "effective decisions of 150, at least 200"),
        (np.append(good_weights(), 2000.0), np.arange(5001), None, "of the weight, at most 5.0%"),
        (1.3 * good_weights(), np.arange(5000), None, "the mean weight is 1.29.* instead of 1"),
        (good_weights(), np.arange(5000), np.arange(5000) < 2500, "50.0% of decisions lie inside"),
    ],
)
def test_each_lack_of_support_is_named_with_its_figure(weight, clusters, inside, message):
    figures = diagnose_weights(weight, clusters, inside_support=inside)
    assert any(re.search(message, doubt) for doubt in doubts_about_support(figures, SupportLimits())), (
        doubts_about_support(figures, SupportLimits())
    )


def test_a_mean_weight_just_outside_its_interval_is_chance():
    figures = diagnose_weights(good_weights(), None)
    half = (figures.mean_weight_upper_95 - figures.mean_weight_lower_95) / 2
    near, far = (figures.model_copy(update={"mean_weight": 1 + times * half}) for times in (1.9, 2.1))
    assert doubts_about_support(near, SupportLimits()) == ()
    assert doubts_about_support(far, SupportLimits()) != ()


def test_estimators_that_contradict_each_other_are_seen():
    rng = np.random.default_rng(2)
    reward, weight = rng.exponential(1, 500), good_weights()[:500]
    near = [student_interval(make(reward, weight)) for make in (inverse_propensity, self_normalised)]
    far = [near[0], student_interval(mean_value("dm", np.full(500, 3.0) + 0.01 * rng.normal(size=500)))]
    assert agreement_of(near).all_overlap
    assert not agreement_of(far).all_overlap
    assert agreement_of(far).highest == "dm"
    assert agreement_of(far).gap_in_half_widths > 1
    with pytest.raises(DataError, match="at least two"):
        agreement_of(near[:1])


def test_the_negative_control_passes_the_logged_mean_and_refuses_anything_else():
    reward = np.random.default_rng(3).exponential(1, 50)
    negative_control(inverse_propensity(reward, np.ones(50)), float(reward.mean()))
    with pytest.raises(DataError, match="for the logging policy itself"):
        negative_control(inverse_propensity(reward, np.full(50, 1.01)), float(reward.mean()))


def test_flags_of_support_need_one_entry_for_each_decision():
    with pytest.raises(DataError, match="one flag for each decision"):
        diagnose_weights(good_weights(), None, inside_support=[True])
