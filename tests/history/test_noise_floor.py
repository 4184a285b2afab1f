"""The noise floor: it measures chance, and a wrong fit cannot raise it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.errors import DataError
from gaelp.history.noise_floor import NORMAL_DEVIATION, _floor, measure_noise_floor
from gaelp.market.calibration.report_frame import keep_days

DAYS = 28


def days(spread, seed=0):
    rng = np.random.default_rng(seed)
    mean = 100 * np.exp(rng.normal(0, 0.5, (40, 1))) * np.ones((1, DAYS))
    return mean * (1 + spread * rng.standard_normal(mean.shape)), mean


@pytest.mark.parametrize("spread", [0.05, 0.2])
def test_floor_is_the_mean_absolute_deviation_of_days_by_chance(spread):
    logged, mean = days(spread)
    floor = _floor(logged, mean)
    assert floor.share == pytest.approx(spread * NORMAL_DEVIATION, rel=0.08)
    squares = floor.square.sum(axis=1) / DAYS / mean[:, 0] ** 2
    assert squares.mean() == pytest.approx(spread**2, rel=0.1)


def test_single_busy_days_count_once():
    _, mean = days(0.0)
    logged = mean.copy()
    logged[:, 5] *= 2
    assert _floor(logged, mean).share == pytest.approx(1 / (DAYS + 1), rel=0.05)


@given(factor=st.floats(0.3, 3.0))
def test_fit_that_is_wrong_by_a_factor_has_the_same_floor(factor):
    logged, mean = days(0.1)
    right, wrong = (_floor(logged, each) for each in (mean, factor * mean))
    np.testing.assert_allclose(wrong.deviation, right.deviation)
    np.testing.assert_allclose(wrong.square, right.square)


def test_held_out_window_of_six_days_is_refused(windows, fitted):
    with pytest.raises(DataError, match="6 days; allowed: 7 or more"):
        measure_noise_floor(keep_days(replace(windows[1]), 0, 6), fitted[0].curves)
