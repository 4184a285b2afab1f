"""A score is a mean with its 95% interval, and its lead is measured episode by episode."""

import math

import numpy as np
import pytest

from gaelp.errors import BadInput
from gaelp.training.scores import Score, score


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


def test_the_best_of_ten_looks_at_an_agent_without_a_lead_is_rarely_called_proven():
    rng = np.random.default_rng(1)
    rule = rng.normal(0.7, 0.1, 200)
    lucky = [any(score(rule + rng.normal(0, 0.02, 200), rule, looks=10).proven for _ in range(10)) for _ in range(400)]
    alone = [any(score(rule + rng.normal(0, 0.02, 200), rule).proven for _ in range(10)) for _ in range(400)]
    assert np.mean(lucky) <= 0.05
    assert np.mean(alone) > 0.15  # without the correction


def test_a_true_lead_is_proven_at_ten_looks_too():
    rng = np.random.default_rng(2)
    rule = rng.normal(0.7, 0.1, 200)
    assert score(rule + rng.normal(0.01, 0.02, 200), rule, looks=10).proven


def test_an_agent_that_does_exactly_what_its_rule_does_is_not_proven_better():
    rule = np.array([0.1, 0.9, 0.5])
    assert not score(rule, rule).proven


def test_without_a_reference_there_is_nothing_to_prove():
    assert score(np.array([0.2, 0.4])).proven


def test_a_score_of_an_earlier_release_is_not_proven():
    rule = np.array([0.1, 0.9, 0.5])
    stored = score(rule + 0.02, rule).model_dump(exclude={"lead_lower_all_looks"})
    assert not Score.model_validate(stored).proven
