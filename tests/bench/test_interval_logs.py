import numpy as np
import pytest

from gaelp.bench.interval_logs import SD, draw_decisions, draw_dollars, draw_episodes, smoothed_reward


def weights_of(log):
    return np.exp((log.action * log.shift - log.shift**2 / 2) / SD**2)


def test_the_stated_truth_of_decisions_is_what_weighting_a_huge_log_gives():
    log = draw_decisions(np.random.default_rng(1), clusters=20_000)
    weight = weights_of(log)
    assert np.mean(weight * log.reward) == pytest.approx(log.truth, rel=0.02)
    assert np.mean(weight * log.happened) == pytest.approx(log.happened_truth, rel=0.02)


def test_the_stated_lift_is_what_weighting_a_huge_log_gives_in_spite_of_the_budget():
    log = draw_dollars(np.random.default_rng(2), days=2000)
    weight, expected = weights_of(log), log.value
    lift = np.sum(weight * expected) / np.sum(weight * log.spend) / (expected.sum() / log.spend.sum()) - 1
    assert lift == pytest.approx(log.true_lift, abs=0.02)


def test_the_stated_value_of_episodes_is_what_the_target_earns():
    log = draw_episodes(np.random.default_rng(3), episodes=200_000, horizon=2)
    assert np.mean(np.sum(np.cumprod(log.weight, axis=1) * log.reward, axis=1)) == pytest.approx(log.truth, rel=0.02)


def test_a_narrow_kernel_smooths_nothing():
    level, shift = np.array([1.0, 2.0]), np.array([0.0, 0.3])
    assert smoothed_reward(level, shift, 1e-6) == pytest.approx(level * np.exp(0.8 * shift))
    assert (smoothed_reward(level, shift, 0.5) > level * np.exp(0.8 * shift)).all()
