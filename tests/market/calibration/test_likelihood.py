import math

import numpy as np
import pytest

from gaelp.market.calibration.likelihood import maximise, profile_interval


def normal(data):
    def value(point):
        mean, log_sd = point
        return float(-len(data) * log_sd - 0.5 * (((data - mean) / math.exp(log_sd)) ** 2).sum())

    return value


DATA = np.random.default_rng(1).normal(3, 2, 400)
BOUNDS = ((-50.0, 50.0), (-5.0, 5.0))


def test_the_maximum_of_a_normal_likelihood_is_mean_and_deviation():
    best = maximise(normal(DATA), (0.0, 0.0), BOUNDS)
    assert best.point == pytest.approx([DATA.mean(), math.log(DATA.std())], abs=1e-4)


def test_the_profile_interval_of_a_mean_is_the_classical_one():
    best = maximise(normal(DATA), (0.0, 0.0), BOUNDS)
    low, high = profile_interval(normal(DATA), best, 0, BOUNDS)
    half = 1.96 * DATA.std() / math.sqrt(len(DATA))
    assert (low, high) == pytest.approx((DATA.mean() - half, DATA.mean() + half), abs=0.02)


def test_an_interval_ends_at_a_bound_the_data_do_not_rule_out():
    bounds = ((2.95, 50.0), (-5.0, 5.0))
    best = maximise(normal(DATA), (4.0, 0.0), bounds)
    assert profile_interval(normal(DATA), best, 0, bounds)[0] == 2.95


def test_a_fixed_parameter_has_no_width():
    bounds = ((3.0, 3.0), (-5.0, 5.0))
    best = maximise(normal(DATA), (3.0, 0.0), bounds)
    assert profile_interval(normal(DATA), best, 0, bounds) == (3.0, 3.0)


def test_one_parameter_alone_has_an_interval_too():
    def poisson(point):
        return float(40 * point[0] - math.exp(point[0]))

    bounds = ((-5.0, 10.0),)
    low, high = profile_interval(poisson, maximise(poisson, (0.0,), bounds), 0, bounds)
    assert math.exp(low) == pytest.approx(28.8, abs=0.4)
    assert math.exp(high) == pytest.approx(53.7, abs=0.6)
