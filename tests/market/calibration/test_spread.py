import numpy as np
import pytest

from gaelp.market.calibration.spread import shrunk, spread_net_of_noise


def test_noise_is_not_taken_for_spread():
    rng = np.random.default_rng(1)
    noise = rng.uniform(0.05, 0.4, 400)
    spread = spread_net_of_noise(2 + noise * rng.normal(size=400), noise**2)
    assert spread.sd < 0.06
    assert spread.sd_low == 0
    assert spread.mean == pytest.approx(2, abs=0.03)


def test_spread_is_found_beneath_noise_of_its_own_size():
    rng = np.random.default_rng(2)
    noise = rng.uniform(0.1, 0.6, 2000)
    value = 0.3 * rng.normal(size=2000) + noise * rng.normal(size=2000)
    spread = spread_net_of_noise(value, noise**2)
    assert spread.sd == pytest.approx(0.3, abs=0.03)
    assert value.std() > 0.45


def test_intervals_hold_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(300):
        noise = rng.uniform(0.05, 0.5, 12)
        spread = spread_net_of_noise(0.4 * rng.normal(size=12) + noise * rng.normal(size=12), noise**2)
        held += spread.sd_low <= 0.4 <= spread.sd_high
    assert 0.91 <= held / 300 <= 0.99


def test_groups_that_differ_in_one_jump_are_less_straight_than_normal_ones():
    noise = np.full(40, 1e-4)
    normal = spread_net_of_noise(np.random.default_rng(4).normal(size=40), noise)
    jump = spread_net_of_noise(np.repeat([0.0, 5.0], [39, 1]), noise)
    assert normal.straightness > 0.97 > 0.6 > jump.straightness


def test_shrinking_pulls_noisy_groups_harder_and_unseen_ones_to_the_centre():
    estimate = np.array([1.5, 1.5, 0.5, 0.6, 1.4, np.nan])
    noise = np.array([0.001, 0.5, 0.001, 0.001, 0.001, np.inf])
    pulled, left, weight = shrunk(np.nan_to_num(estimate, nan=9.0), noise, centre=1.0)
    assert pulled[0] == pytest.approx(1.5, abs=0.02)
    assert 1 < pulled[1] < 1.3
    assert pulled[5] == 1
    assert weight[5] == 0
    assert left[0] < left[1] < left[5]


def test_groups_that_do_not_differ_all_become_the_centre():
    pulled, left, weight = shrunk(np.array([0.99, 1.0, 1.01]), np.full(3, 0.1), centre=1.0)
    assert pulled.tolist() == [1, 1, 1]
    assert not left.any()
    assert not weight.any()
