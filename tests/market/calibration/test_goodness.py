import json
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from gaelp.errors import DataError
from gaelp.market.calibration import compare, kaplan_meier
from gaelp.market.calibration.knots import landscape_from_curve, without_zero
from gaelp.market.spec import LandscapeSpec, PriceComponent

ROOT = Path(__file__).resolve().parents[3]
HISTOGRAMS = Path(os.environ.get("GAELP_TEST_IPINYOU", ROOT.parent / "shared" / "data" / "ipinyou_2997"))
KL_LIMIT = 0.05
LOG_NORMAL = LandscapeSpec(name="plain", mixture=(PriceComponent(weight=1, log_mean=0.0, log_sd=0.7),))


def curve_of(prices):
    return kaplan_meier(np.asarray(prices, float), np.ones(len(prices), bool))


def draws(seed, rows=20_000, log_sd=0.7, shift=0.0):
    return np.random.default_rng(seed).lognormal(shift, log_sd, rows)


def test_prices_from_the_landscape_itself_fit():
    comparison = compare(LOG_NORMAL, curve_of(draws(1)), level=1.0)
    assert comparison.ks < 1.63 / np.sqrt(20_000)
    assert comparison.kl < 64 / 20_000
    assert comparison.observations == 20_000


def test_other_prices_do_not_fit():
    same, dearer, wider = (
        compare(LOG_NORMAL, curve_of(prices), level=1.0)
        for prices in (draws(1), draws(2, shift=0.3), draws(3, log_sd=1.1))
    )
    assert min(dearer.ks, wider.ks) > 10 * same.ks
    assert min(dearer.kl, wider.kl) > 10 * same.kl
    assert dearer.kl == pytest.approx(0.5 * (0.3 / 0.7) ** 2, rel=0.1)  # of two normals a shift apart
    edges = np.exp(np.linspace(-3, 3, 40))
    right, wrong = (
        compare(landscape, curve_of(draws(4)), level=1.0, edges=edges).mean_log_likelihood
        for landscape in (
            LOG_NORMAL,
            LandscapeSpec(name="off", mixture=(PriceComponent(weight=1, log_mean=0.3, log_sd=0.7),)),
        )
    )
    assert right > wrong


def test_the_log_likelihood_is_that_of_the_bins():
    edges = np.array([0.5, 1.0, 2.0, 50.0])
    prices = draws(5, rows=4000)
    comparison = compare(LOG_NORMAL, curve_of(prices), level=1.0, edges=edges)
    mass = np.diff(norm.cdf(np.log(edges) / 0.7), prepend=0.0)
    count = np.histogram(prices, np.concatenate([[0], edges]))[0] / 4000
    assert comparison.mean_log_likelihood == pytest.approx((count * np.log(mass / mass.sum())).sum(), abs=1e-3)


def test_the_level_scales_the_landscape():
    comparison = compare(LOG_NORMAL, curve_of(2500 * draws(6)), level=2500.0)
    assert comparison.ks < 0.02


def test_prices_beyond_the_reach_of_the_fit_are_not_held_against_it():
    price = draws(7)
    reach = np.where(price <= 1.2, price, 1.2)
    fit = landscape_from_curve(kaplan_meier(reach, price <= 1.2), "reach")
    assert fit.unknown_share > 0.3
    comparison = compare(fit.landscape, curve_of(draws(8)), level=fit.mean_price)
    assert comparison.ks < 0.02
    assert comparison.kl < 0.01


def test_a_landscape_below_every_held_out_price_cannot_be_compared():
    price = np.array([1.0, 2.0, 3.0])
    fit = landscape_from_curve(kaplan_meier(price, np.array([True, True, False])), "low")
    with pytest.raises(DataError, match="below every held-out price"):
        compare(fit.landscape, curve_of([50, 60]), level=fit.mean_price)


def compare_halves(price, count, rng):
    """Split a price histogram at random, fit a landscape on one half, compare it with the other."""
    half = rng.binomial(count, 0.5)
    price = without_zero(price)
    curves = [kaplan_meier(price, np.ones(len(price), bool), part.astype(float)) for part in (half, count - half)]
    fit = landscape_from_curve(curves[0], "half")
    return compare(fit.landscape, curves[1], level=fit.mean_price, edges=price)


@pytest.mark.parametrize("seed", range(3))
def test_halves_of_spiky_histograms_fit_each_other(seed):
    rng = np.random.default_rng(seed)
    price = np.arange(301.0)
    smooth = np.exp(-0.5 * ((np.log(price + 1) - 4.2) / 0.7) ** 2)
    count = rng.poisson(smooth * 20_000 * np.where(rng.random(301) < 0.03, 20, 1))
    comparison = compare_halves(price, count, np.random.default_rng(seed))
    assert comparison.kl < KL_LIMIT
    assert comparison.bins == 301
    assert comparison.observations == pytest.approx(count.sum() / 2, rel=0.01)


@pytest.mark.skipif(not HISTOGRAMS.is_dir(), reason="set GAELP_TEST_IPINYOU to the folder with *_info.json")
def test_halves_of_real_histograms_fit_each_other():
    files = sorted(HISTOGRAMS.glob("*_info.json"))
    assert len(files) == 9
    for path in files:
        count = np.array(json.loads(path.read_text())["price_counter_train"])
        comparison = compare_halves(np.arange(float(len(count))), count, np.random.default_rng(1))
        assert comparison.kl < KL_LIMIT, f"{path.name}: {comparison}"
