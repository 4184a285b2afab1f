"""Draws follow their distributions and depend on nothing but their key."""

import numba as nb
import numpy as np
import pytest
from scipy import stats

from gaelp.market.random import advance, binomial, gamma_table, keyed, keys_of, normal, poisson, quantile, uniform

DRAWS = 200_000
KEY = keys_of(np.array([11], np.uint64))[0]


@nb.njit
def _uniforms(count):
    return np.array([uniform(keyed(KEY, 1, i, 3)) for i in range(count)])


@nb.njit
def _normals(count):
    return np.array([normal(keyed(KEY, 2, i, 3)) for i in range(count)])


@nb.njit
def _gammas(table, count):
    return np.array([quantile(table, keyed(KEY, 3, i, 3)) for i in range(count)])


@nb.njit
def _poissons(mean, count):
    return np.array([poisson(mean, keyed(KEY, 4, i, 3)) for i in range(count)])


@nb.njit
def _binomials(trials, chance, count):
    return np.array([binomial(trials, chance, keyed(KEY, 5, i, 3)) for i in range(count)])


def fits(counts, distribution):
    """Chi-square of observed counts against a discrete distribution, over the values that are expected often enough."""
    values = np.arange(counts.max() + 2)
    expected = distribution.pmf(values) * len(counts)
    often = expected > 10
    observed = np.bincount(counts, minlength=len(values))[often]
    scaled = expected[often] * observed.sum() / expected[often].sum()
    return stats.chisquare(observed, scaled).pvalue


def test_uniform_numbers_are_uniform():
    assert stats.kstest(_uniforms(DRAWS), "uniform").pvalue > 1e-3


def test_normal_numbers_are_normal_also_in_the_tails():
    draws = _normals(DRAWS)
    assert stats.kstest(draws, "norm").pvalue > 1e-3
    assert np.mean(np.abs(draws) > 3) == pytest.approx(2 * stats.norm.sf(3), rel=0.15)


def test_gamma_table_has_mean_one_and_the_variance_asked_for():
    draws = _gammas(gamma_table(0.15), DRAWS)
    assert draws.mean() == pytest.approx(1.0, abs=0.003)
    assert draws.var() == pytest.approx(0.15, rel=0.02)


@pytest.mark.parametrize("mean", [0.2, 3.0, 11.9, 12.1, 80.0, 5000.0])
def test_poisson_counts_are_poisson(mean):
    assert fits(_poissons(mean, DRAWS), stats.poisson(mean)) > 1e-3


@pytest.mark.parametrize(
    ("trials", "chance"), [(2, 0.06), (30, 0.01), (30, 0.99), (40, 0.24), (41, 0.25), (120, 0.3), (500, 0.7)]
)
def test_binomial_counts_are_binomial(trials, chance):
    assert fits(_binomials(trials, chance, DRAWS), stats.binom(trials, chance)) > 1e-3


@pytest.mark.parametrize(("trials", "chance", "expected"), [(0, 0.5, 0), (10, 0.0, 0), (10, 1.0, 10), (-3, 0.5, 0)])
def test_certain_outcomes_need_no_luck(trials, chance, expected):
    assert set(_binomials(trials, chance, 10)) == {expected}


def test_every_part_of_the_key_matters_and_streams_do_not_touch():
    seeds = keys_of(np.arange(20, dtype=np.uint64))
    keys = {int(keyed(s, a, t, g)) for s in seeds for a in range(10) for t in range(20) for g in range(10)}
    assert len(keys) == 20 * 10 * 20 * 10
    walked = {int(advance(np.uint64(k))) for k in keys}
    assert not keys & walked


def test_neighbouring_keys_are_uncorrelated():
    draws = _normals(DRAWS)
    assert abs(np.corrcoef(draws[:-1], draws[1:])[0, 1]) < 0.01
