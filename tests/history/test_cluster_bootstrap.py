"""Intervals by resampling clusters."""

import numpy as np
import pytest

from gaelp.history.cluster_bootstrap import cluster_weights, percentile_interval


def test_every_replicate_draws_as_many_clusters_as_there_are():
    weights = cluster_weights(24, 100, np.random.default_rng(0))
    assert (weights.sum(axis=1) == 24).all()


def test_interval_of_a_mean_has_the_width_of_its_standard_error():
    rng = np.random.default_rng(1)
    values = rng.normal(size=200)
    weights = cluster_weights(200, 2000, rng)
    low, high = percentile_interval(lambda n: float(weights[n] @ values / 200), 2000, float(values.mean()))
    assert high - low == pytest.approx(2 * 1.96 * values.std() / np.sqrt(200), rel=0.1)


def test_interval_holds_the_value_itself():
    assert percentile_interval(lambda _: 0.5, 10, 0.7) == (0.5, 0.7)
