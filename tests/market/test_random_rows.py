"""A row of draws holds the numbers that `random` draws one by one."""

import numba as nb
import numpy as np

from gaelp.market.random import (
    advance,
    binomial,
    counter,
    gamma_table,
    keyed,
    keys_of,
    normal,
    poisson,
    quantile,
    uniform,
)
from gaelp.market.random_rows import (
    fill_normals,
    fill_poissons,
    fill_quantiles,
    fill_states,
    fill_uniforms,
    search_binomials,
)

PLACES = 20_000
STREAM = 6
KEY = keys_of(np.array([11], np.uint64))[0]


@nb.njit
def _counters(places):
    return np.array([counter(i // 8, i % 8) for i in range(places)])


@nb.njit
def _one_by_one(places, table, mean):
    states = np.array([keyed(KEY, STREAM, i // 8, i % 8) for i in range(places)])
    uniforms = np.array([uniform(state) for state in states])
    normals = np.array([normal(advance(state)) for state in states])
    quantiles = np.array([quantile(table, state) for state in states])
    poissons = np.array([poisson(mean[i], advance(states[i])) for i in range(places)])
    return states, uniforms, normals, quantiles, poissons


@nb.njit
def _binomials(trials, chance, states):
    return np.array([binomial(trials[i], chance[i], states[i]) for i in range(len(trials))])


def row_states():
    states = np.empty(PLACES, np.uint64)
    fill_states(KEY, STREAM, _counters(PLACES), states)
    return states


def test_rows_hold_the_numbers_drawn_one_by_one():
    table = gamma_table(0.15)
    mean = np.random.default_rng(0).uniform(0.0, 30.0, PLACES)
    exact_states, uniforms, normals, quantiles, poissons = _one_by_one(PLACES, table, mean)
    states, out, z = row_states(), np.empty(PLACES), np.empty(PLACES)
    assert (states == exact_states).all()
    fill_uniforms(states, out)
    assert (out == uniforms).all()
    fill_quantiles(states, table, out)
    assert (out == quantiles).all()
    fill_normals(states, 1, np.empty(PLACES, np.int64), z)
    assert (z == normals).all()
    fill_poissons(states, mean, z, out)
    assert (out == poissons).all()


def test_searched_binomials_are_those_drawn_one_by_one():
    rng = np.random.default_rng(1)
    trials = rng.integers(0, 120, PLACES).astype(np.int32)
    chance = rng.choice([0.0, 0.01, 0.04, 0.06, 0.4, 0.5, 0.7, 0.97, 1.0], PLACES)
    todo = np.flatnonzero(trials * chance * (1 - chance) < 6)
    states, out = row_states(), np.full(PLACES, -1.0)
    search_binomials(todo, trials, chance, states, np.empty((5, PLACES)), out)
    assert (out[todo] == _binomials(trials, chance, states)[todo]).all()
    assert (np.delete(out, todo) == -1).all()
