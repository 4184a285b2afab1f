import numpy as np
import pytest

from gaelp.bench.price_mixture import fit_mixture
from gaelp.errors import DataError


def test_two_components_are_found_again():
    rng = np.random.default_rng(1)
    price = np.exp(np.where(rng.random(10_000) < 0.3, rng.normal(4, 0.2, 10_000), rng.normal(5.5, 0.4, 10_000)))
    spec = fit_mixture(price, np.ones(len(price)), name="two", components=(2,), decimals=6)
    mean_log = np.log(price.mean())
    low, high = spec.mixture
    assert low.weight == pytest.approx(0.3, abs=0.015)
    assert (low.log_mean, high.log_mean) == pytest.approx((4 - mean_log, 5.5 - mean_log), abs=0.03)
    assert (low.log_sd, high.log_sd) == pytest.approx((0.2, 0.4), abs=0.03)


def test_more_components_are_used_only_where_they_pay():
    price = np.random.default_rng(2).lognormal(3, 0.5, 400)
    assert len(fit_mixture(price, np.ones(len(price)), name="plain", components=(2, 3)).mixture) == 2


def test_counts_weigh_like_repeated_prices():
    price = np.arange(1.0, 60)
    count = np.random.default_rng(3).integers(1, 30, len(price))
    counted = fit_mixture(price, count.astype(float), name="same", components=(2,))
    assert counted == fit_mixture(np.repeat(price, count), np.ones(count.sum()), name="same", components=(2,))


def test_the_mean_is_1_and_the_weights_sum_to_1_after_rounding():
    price = np.random.default_rng(4).lognormal(5, 1.2, 400)
    spec = fit_mixture(price, np.ones(len(price)), name="scaled", components=(3,))
    assert sum(part.weight for part in spec.mixture) == pytest.approx(1, abs=1e-9)
    mean = sum(part.weight * np.exp(part.log_mean + part.log_sd**2 / 2) for part in spec.mixture)
    assert mean == pytest.approx(1, abs=0.005)
    assert all(round(part.log_mean, 3) == part.log_mean for part in spec.mixture)


def test_prices_of_zero_are_refused():
    with pytest.raises(DataError, match="saw prices of 0"):
        fit_mixture(np.array([0.0, 1.0]), np.ones(2), name="zero")
