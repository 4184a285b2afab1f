import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, norm

from gaelp.market.calibration.fitted import Fitted, TooLittle
from gaelp.market.calibration.rates import RateFit, _marginal, fit_correlation, fit_rates


def drawn(seed, segments=40, log_sd=0.5, correlation=0.0, trials=20_000):
    rng = np.random.default_rng(seed)
    covariate = rng.normal(size=segments)
    z = correlation * covariate + math.sqrt(1 - correlation**2) * rng.normal(size=segments)
    shown = rng.integers(200, trials, segments)
    clicks = rng.binomial(shown, 0.01 * np.exp(log_sd * z))
    standardised = (covariate - covariate.mean()) / covariate.std()
    return clicks.astype(float), shown.astype(float), standardised


def test_the_integral_over_segment_rates_is_exact():
    successes, trials, centre, sd = np.array([0.0, 3, 900]), np.array([50.0, 400, 60_000]), math.log(0.01), 0.7
    estimate, _ = _marginal(successes, trials, np.full(3, centre), sd)
    for k, n, value in zip(successes, trials, estimate, strict=True):
        mode = math.log(max(k, 0.5) / n)
        exact = quad(
            lambda eta, k=k, n=n: binom.pmf(k, n, math.exp(eta)) * norm.pdf(eta, centre, sd),
            -9,
            -0.01,
            points=[mode],
            limit=400,
        )[0]
        combinations = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
        assert value + combinations == pytest.approx(math.log(exact), abs=2e-3)


def test_rate_and_spread_are_recovered(inside):
    clicks, shown, _ = drawn(seed=3)
    fit = fit_rates(clicks, shown, "clicks")
    assert isinstance(fit, RateFit)
    assert inside(fit.rate, 0.01)
    assert inside(fit.log_sd, 0.5)
    assert fit.log_sd.interval_high - fit.log_sd.interval_low < 0.35
    assert 0.6 < fit.rate.goodness < 1.6


def test_segments_that_differ_only_by_chance_have_no_spread(inside):
    clicks, shown, _ = drawn(seed=4, log_sd=0.0, trials=2000)
    fit = fit_rates(clicks, shown, "clicks")
    assert fit.log_sd.interval_low == 0
    assert fit.log_sd.value < 0.2
    assert np.log(np.maximum(clicks, 0.5) / shown).std() > 0.3  # what plain rates would say
    assert inside(fit.rate, 0.01)


def test_a_segment_without_clicks_is_pulled_towards_the_others():
    clicks, shown, _ = drawn(seed=5)
    clicks[0], shown[0] = 0, 30
    fit = fit_rates(clicks, shown, "clicks")
    assert 0.004 < fit.segment_rate[0] < fit.rate.value


def test_a_segment_never_shown_has_the_typical_rate():
    clicks, shown, _ = drawn(seed=5)
    clicks[0] = shown[0] = 0
    fit = fit_rates(clicks, shown, "clicks")
    assert fit.segment_rate[0] == pytest.approx(fit.rate.value)


def test_few_segments_give_one_rate_and_no_spread(inside):
    rng = np.random.default_rng(6)
    shown = np.array([4000.0, 6000.0])
    fit = fit_rates(rng.binomial(shown.astype(int), 0.03).astype(float), shown, "clicks")
    assert inside(fit.rate, 0.03)
    assert isinstance(fit.log_sd, TooLittle)
    assert "2 segments" in fit.log_sd.reason


def test_few_clicks_give_nothing():
    fit = fit_rates(np.array([3.0, 4, 0, 0, 5]), np.full(5, 1000.0), "clicks")
    assert fit == TooLittle(observations=12, reason="12 clicks seen, 20 needed")


@pytest.mark.parametrize("correlation", [-0.7, 0.0, 0.6])
def test_correlation_is_recovered_net_of_noise(correlation, inside):
    clicks, shown, covariate = drawn(seed=7, segments=80, correlation=correlation, trials=4000)
    estimate = fit_correlation(clicks, shown, covariate, "clicks")
    assert isinstance(estimate, Fitted)
    assert inside(estimate, correlation)
    assert (estimate.goodness > 1.92) == (correlation != 0)


def test_much_data_pins_the_correlation_down():
    clicks, shown, covariate = drawn(seed=9, segments=500, correlation=0.6)
    assert fit_correlation(clicks, shown, covariate, "clicks").value == pytest.approx(0.6, abs=0.07)


def test_correlation_needs_units_that_differ():
    clicks, shown, _ = drawn(seed=8)
    assert isinstance(fit_correlation(clicks, shown, np.zeros(len(clicks)), "clicks"), TooLittle)


@pytest.mark.parametrize("seed", range(4))
def test_rates_that_differ_by_chance_alone_have_no_correlation_with_anything(seed):
    clicks, shown, covariate = drawn(seed, segments=12, log_sd=0.0, trials=500)
    estimate = fit_correlation(clicks, shown, covariate, "clicks")
    assert isinstance(estimate, TooLittle)
    assert "differ by no more than chance" in estimate.reason or "needed" in estimate.reason


def test_successes_without_a_single_trial_that_can_be_judged_are_too_little():
    estimate = fit_rates(np.full(4, 30.0), np.zeros(4), "conversions")
    assert isinstance(estimate, TooLittle)
    assert "old enough to judge" in estimate.reason
