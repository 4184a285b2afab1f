import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.errors import DataError
from gaelp.history.estimators import clipped_inverse_propensity, inverse_propensity, self_normalised
from gaelp.history.intervals import (
    bernstein_interval,
    bootstrap_intervals,
    cluster_sums,
    resampled_sums,
    sequence_interval,
    student_interval,
)
from gaelp.history.policy_value import mean_value

SEEDS = st.integers(0, 2**32 - 1)


def logged(seed, size=600):
    rng = np.random.default_rng(seed)
    return rng.exponential(1, size), rng.lognormal(-0.18, 0.6, size), np.arange(size) // 10


def test_student_over_rows_is_the_textbook_interval():
    rows = np.array([1.0, 2.0, 3.0, 6.0])
    interval = student_interval(mean_value("mean", rows))
    error = rows.std(ddof=1) / 2
    assert (interval.lower, interval.upper) == pytest.approx((3 - 3.182446 * error, 3 + 3.182446 * error), rel=1e-6)


def test_rows_that_share_luck_make_the_interval_wider():
    luck = np.repeat(np.random.default_rng(1).normal(size=40), 25)
    estimate = mean_value("mean", luck + np.random.default_rng(2).normal(0, 0.1, 1000))
    alone, together = student_interval(estimate), student_interval(estimate, np.repeat(np.arange(40), 25))
    assert together.clusters == 40
    assert together.upper - together.lower > 4 * (alone.upper - alone.lower)


@given(seed=SEEDS)
def test_bootstrap_and_student_agree_on_a_ratio(seed):
    reward, weight, clusters = logged(seed)
    estimate = self_normalised(reward, weight)
    student = student_interval(estimate, clusters)
    (resampled,) = bootstrap_intervals((estimate,), clusters, np.random.default_rng(seed))
    assert resampled.upper - resampled.lower == pytest.approx(student.upper - student.lower, rel=0.25)


def test_the_same_seed_gives_the_same_bootstrap_and_estimates_share_resamples():
    reward, weight, clusters = logged(3)
    pair = (self_normalised(reward, weight), inverse_propensity(reward, weight))
    first = bootstrap_intervals(pair, clusters, np.random.default_rng(9))
    again = bootstrap_intervals(pair, clusters, np.random.default_rng(9))
    alone = bootstrap_intervals(pair[:1], clusters, np.random.default_rng(9))
    assert first == again
    assert first[0] == alone[0]


def test_each_resample_has_as_many_clusters_as_the_log():
    drawn = resampled_sums(np.ones((50, 1)), np.random.default_rng(4), replicates=30)
    assert (drawn == 50).all()


def test_resampling_in_pieces_is_complete(monkeypatch):
    monkeypatch.setattr("gaelp.history.intervals._CHUNK", 100)
    assert resampled_sums(np.ones((30, 2)), np.random.default_rng(4), replicates=11).shape == (11, 2)


def test_an_interval_in_logs_is_never_below_its_offset():
    estimate = self_normalised([0.0, 0.0, 9.0, 0.0], [1.0, 1.0, 1.0, 1.0])
    assert student_interval(estimate).lower < 0
    assert student_interval(estimate, log_offset=0.0).lower > 0
    with pytest.raises(DataError, match="needs a value above 0"):
        student_interval(mean_value("x", np.array([-1.0, -2.0])), log_offset=0.0)


def test_fewer_degrees_of_freedom_make_the_interval_wider():
    estimate = mean_value("x", np.random.default_rng(1).normal(size=12))
    usual, fewer = student_interval(estimate), student_interval(estimate, degrees=4.0)
    assert student_interval(estimate, degrees=11.0) == usual
    assert fewer.lower < usual.lower < usual.upper < fewer.upper


def test_bernstein_is_the_formula_of_maurer_and_pontil():
    rows = np.array([0.0, 1.0, 1.0, 0.0, 1.0])
    interval = bernstein_interval(mean_value("mean", rows, (0.0, 1.0)))
    log_term = np.log(2 / 0.025)
    reach = np.sqrt(2 * rows.var(ddof=1) * log_term / 5) + 7 * log_term / (3 * 4)
    assert interval.lower == pytest.approx(0.6 - reach)


@given(seed=SEEDS)
def test_bernstein_is_wider_than_student(seed):
    reward, weight, clusters = logged(seed)
    estimate = clipped_inverse_propensity(np.minimum(reward, 3), weight, weight_max=4, reward_max=3)
    exact, asymptotic = bernstein_interval(estimate, clusters), student_interval(estimate, clusters)
    assert exact.lower < asymptotic.lower
    assert exact.upper > asymptotic.upper


def test_bernstein_refuses_what_has_no_limits_or_exceeds_them():
    with pytest.raises(DataError, match="known limits"):
        bernstein_interval(inverse_propensity([1.0, 2.0], [1.0, 1.0]))
    with pytest.raises(DataError, match="known limits"):
        bernstein_interval(self_normalised([1.0, 2.0], [1.0, 3.0]), limits=(0, 9))
    with pytest.raises(DataError, match="outside their limits"):
        bernstein_interval(inverse_propensity([1.0, 2.0], [1.0, 1.0]), limits=(0.0, 1.5))


def test_the_bound_for_many_looks_is_wider_than_the_one_for_a_single_look():
    reward, weight, clusters = logged(7)
    estimate = inverse_propensity(reward, weight)
    many, single = sequence_interval(estimate, clusters, tuned_for=60), student_interval(estimate, clusters)
    assert many.lower < single.lower < single.upper < many.upper
    with pytest.raises(DataError, match="spread is unknown"):
        sequence_interval(mean_value("x", np.ones(5)), tuned_for=5)


def test_one_cluster_carries_no_interval():
    estimate = inverse_propensity([1.0, 2.0], [1.0, 1.0])
    for make in (
        lambda: student_interval(estimate, [1, 1]),
        lambda: bootstrap_intervals((estimate,), [1, 1], np.random.default_rng(1)),
    ):
        with pytest.raises(DataError, match="1 cluster: an interval needs at least 2"):
            make()


def test_cluster_sums_add_rows_of_the_same_label():
    sums = cluster_sums(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), ["b", "a", "b"])
    assert sums.tolist() == [[3.0, 4.0], [6.0, 8.0]]
