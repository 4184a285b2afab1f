import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.errors import DataError
from gaelp.history.policy_value import RATIO, RATIO_LIFT, RATIO_SUM, PolicyValue, mean_value


def test_a_mean_remembers_its_rows():
    estimate = mean_value("mean", np.array([1.0, 2.0, 6.0]))
    assert estimate.value == 3.0
    assert estimate.contributions == pytest.approx([1.0, 2.0, 6.0])


@pytest.mark.parametrize(("formula", "width"), [(RATIO, 2), (RATIO_SUM, 4), (RATIO_LIFT, 4)])
@given(seed=st.integers(0, 2**32 - 1))
def test_slopes_are_the_derivatives_of_the_formula(formula, width, seed):
    sums = np.random.default_rng(seed).uniform(1, 5, width)
    step = 1e-6
    numeric = [
        (formula.combine(sums + step * unit) - formula.combine(sums - step * unit)) / (2 * step)
        for unit in np.eye(width)
    ]
    assert formula.slopes(sums) == pytest.approx(np.array(numeric, dtype=float), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize(("formula", "width"), [(RATIO, 2), (RATIO_SUM, 4), (RATIO_LIFT, 4)])
def test_formulas_do_not_depend_on_the_scale_of_all_sums(formula, width):
    sums = np.random.default_rng(2).uniform(1, 5, (3, width))
    assert formula.combine(7 * sums) == pytest.approx(formula.combine(sums))


def test_nothing_to_divide_by_is_refused():
    with pytest.raises(DataError, match="denominator 0"):
        _ = PolicyValue("x", np.array([[1.0, 0.0]]), RATIO).value
