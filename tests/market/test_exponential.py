"""Exponential and logarithm agree with the exact ones to the last bits."""

import numba as nb
import numpy as np
import pytest

from gaelp.market.exponential import exp, log


@nb.njit
def _exps(x):
    return np.array([exp(each) for each in x])


@nb.njit
def _logs(x):
    return np.array([log(each) for each in x])


def test_exponential_is_exact_to_the_last_bits():
    x = np.concatenate([np.linspace(-690, 690, 200_001), np.linspace(-1, 1, 200_001)])
    assert np.abs(_exps(x) / np.exp(x) - 1).max() < 5e-16


def test_exponential_of_what_no_double_holds_is_an_end_and_not_nonsense():
    assert _exps(np.array([-1e4, 1e4])) == pytest.approx(np.exp([-700.0, 700.0]))


def test_logarithm_is_exact_to_the_last_bits():
    x = np.concatenate([np.arange(1.0, 100_001.0), np.exp(np.linspace(0, 28, 100_001))])
    assert np.abs(_logs(x) - np.log(x)).max() < 8e-15
    assert _logs(np.array([1.0, 2.0])).tolist() == [0.0, np.log(2.0)]


def test_both_round_to_the_same_single_as_the_exact_ones():
    x = np.linspace(0.01, 27.6, 300_001)
    assert (_exps(x).astype(np.float32) == np.exp(x).astype(np.float32)).all()
    whole = np.rint(np.exp(x))
    assert (_logs(whole).astype(np.float32) == np.log(whole).astype(np.float32)).all()
