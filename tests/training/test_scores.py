"""A score is a mean with its 95% interval, and its lead is measured episode by episode."""

import math

import numpy as np
import pytest

from gaelp.errors import BadInput
from gaelp.training.scores import score


def test_the_interval_is_two_standard_errors_around_the_mean():
    actual = score(np.array([0.2, 0.4, 0.6, 0.8]))
    half = 1.959963984540054 * np.std([0.2, 0.4, 0.6, 0.8], ddof=1) / 2
    assert (actual.mean, actual.episodes) == (pytest.approx(0.5), 4)
    assert (actual.lower_95, actual.upper_95) == (pytest.approx(0.5 - half), pytest.approx(0.5 + half))
    assert (actual.lead, actual.lead_lower_95, actual.lead_upper_95) == (0, 0, 0)


def test_a_lead_that_is_the_same_in_every_episode_is_certain_however_different_the_episodes():
    rule = np.array([0.1, 0.9, 0.5])
    actual = score(rule + 0.02, rule)
    assert actual.lead_lower_95 == pytest.approx(0.02)
    assert actual.lead_upper_95 == pytest.approx(0.02)
    assert actual.upper_95 - actual.lower_95 > 0.5


def test_the_interval_covers_the_truth_about_95_times_in_100():
    rng = np.random.default_rng(0)
    actual = [score(rng.normal(0.7, 0.1, 100)) for _ in range(1000)]
    assert 925 <= sum(interval.lower_95 <= 0.7 <= interval.upper_95 for interval in actual) <= 970


@pytest.mark.parametrize("rewards", [[], [0.5], [0.5, math.nan], [0.5, math.inf]])
def test_one_episode_or_one_that_is_not_finite_is_no_score(rewards):
    with pytest.raises(BadInput, match="2 or more finite ones"):
        score(np.array(rewards, np.float64))
