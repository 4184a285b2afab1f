import numpy as np
import pytest
from scipy import stats

from gaelp.errors import DataError
from gaelp.history.intervals import student_interval
from gaelp.history.kernel import (
    kernel_doubly_robust,
    kernel_inverse_propensity,
    kernel_self_normalised,
    kernel_weights,
)
from gaelp.history.slope import choose_by_slope

SD = 0.4


def log(seed=1, size=20_000):
    """Logged log bids are normal; the reward is quadratic in them and noisy."""
    rng = np.random.default_rng(seed)
    action = SD * rng.standard_normal(size)
    reward = 1 + action - 0.5 * action**2 + 0.3 * rng.standard_normal(size)
    return action, reward, stats.norm.pdf(action, scale=SD)


def weights(action, density, target=0.2, bandwidth=0.1):
    return kernel_weights(np.full(len(action), target), action, density, bandwidth=bandwidth)


def test_weights_average_to_one_and_vanish_beyond_the_bandwidth():
    action, _, density = log()
    weight = weights(action, density)
    assert weight.mean() == pytest.approx(1, abs=0.05)
    assert (weight[np.abs(action - 0.2) > 0.1] == 0).all()


def test_all_three_find_the_reward_of_a_bid_that_was_never_repeated():
    action, reward, density = log()
    weight = weights(action, density)
    model, at_target = 1 + action, np.full(len(action), 1.2)
    truth = 1 + 0.2 - 0.5 * 0.2**2
    for estimate in (
        kernel_inverse_propensity(reward, weight),
        kernel_self_normalised(reward, weight),
        kernel_doubly_robust(reward, weight, model, at_target),
    ):
        interval = student_interval(estimate, confidence=0.999)
        assert interval.lower < truth < interval.upper
        assert interval.upper - interval.lower < 0.2


def test_a_perfect_model_makes_doubly_robust_exact():
    action, _, density = log(size=500)
    estimate = kernel_doubly_robust(1 + action, weights(action, density), 1 + action, np.full(500, 1.2))
    assert estimate.value == pytest.approx(1.2)


def test_slope_refuses_a_bandwidth_that_is_too_wide():
    action, reward, density = log(size=100_000)
    bandwidths = (0.05, 0.1, 0.2, 0.8)
    candidates = [
        kernel_self_normalised(reward, weights(action, density, target=0.4, bandwidth=width)) for width in bandwidths
    ]
    assert bandwidths[choose_by_slope(candidates)] < 0.8


@pytest.mark.parametrize(
    ("target", "density", "bandwidth", "message"),
    [
        (0.0, 0.0, 0.1, "logging_density is 0 or below"),
        (0.0, 1.0, 0.0, "above 0"),
        (9.0, 1.0, 0.1, "no logged action lies within"),
        (0.0, np.nan, 0.1, "missing"),
    ],
)
def test_what_has_no_kernel_weight_is_refused(target, density, bandwidth, message):
    with pytest.raises(DataError, match=message):
        kernel_weights([target], [0.0], [density], bandwidth=bandwidth)
