import numpy as np
import pytest

from gaelp.market.calibration.fitted import TooLittle
from gaelp.market.calibration.harmonic import Wave, amplitude_net_of_noise, fit_click_daypart

HOUR = np.arange(24)


def clicks(rng, amplitude, expected=400.0, peak=15):
    return rng.poisson(expected * np.exp(amplitude * np.cos(2 * np.pi * (HOUR - peak) / 24))).astype(float)


def test_amplitude_and_peak_are_recovered(inside):
    fitted, wave = fit_click_daypart(clicks(np.random.default_rng(1), 0.3), np.full(24, 400.0))
    assert inside(fitted, 0.3)
    assert fitted.interval_high - fitted.interval_low < 0.12
    assert wave.peak_hour == pytest.approx(15, abs=1)
    assert fitted.goodness == pytest.approx(1, abs=0.7)


def test_impressions_that_vary_over_the_day_are_not_a_daypart(inside):
    expected = 400 * (1 + 0.8 * np.sin(2 * np.pi * HOUR / 24))
    fitted, _ = fit_click_daypart(np.random.default_rng(2).poisson(expected).astype(float), expected)
    assert inside(fitted, 0.0)


def test_noise_alone_shows_no_amplitude_on_average():
    rng = np.random.default_rng(3)
    fits = [fit_click_daypart(clicks(rng, 0.0, expected=20.0), np.full(24, 20.0))[0] for _ in range(60)]
    assert np.mean([statistic.interval_low == 0 for statistic in fits]) > 0.9
    assert np.mean([statistic.value for statistic in fits]) < 0.05  # the plain length averages 0.081


def test_intervals_hold_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(4)
    held = 0
    for _ in range(200):
        wave = Wave(0.1 + 0.05 * rng.normal(), 0.05 * rng.normal(), 0.05**2)
        _, low, high = amplitude_net_of_noise(wave)
        held += low <= 0.1 <= high
    assert 0.92 <= held / 200 <= 0.99


def test_wild_hours_widen_the_interval():
    rng = np.random.default_rng(5)
    calm = clicks(rng, 0.2)
    wild = calm * rng.gamma(4, 0.25, 24)
    narrow, wide = (fit_click_daypart(part.round(), np.full(24, 400.0))[0] for part in (calm, wild))
    assert wide.interval_high - wide.interval_low > 2 * (narrow.interval_high - narrow.interval_low)


@pytest.mark.parametrize(("count", "hours"), [(2.0, 24), (400.0, 10)])
def test_few_clicks_or_few_hours_are_too_little(count, hours):
    expected = np.where(hours > HOUR, 400.0, 0.0)
    assert isinstance(fit_click_daypart(np.where(expected > 0, count, 0.0), expected), TooLittle)
