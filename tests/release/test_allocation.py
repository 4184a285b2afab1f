"""The split of one total: no bound is ever broken, and the gap to the best split is stated."""

import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from gaelp.errors import BadInput
from gaelp.release.allocation import AllocationBounds, ValueCurves, allocate, value_micros

STEP = 10_000
DOLLAR = 1_000_000


def curves_of(kinks, below, above=None, elasticity=0.7):
    above = below if above is None else above
    return ValueCurves(np.array(kinks, np.int64), np.array(below, np.float64), np.array(above, np.float64), elasticity)


def bounds_of(least, most, total, **more):
    return AllocationBounds(np.array(least, np.int64), np.array(most, np.int64), total, STEP, **more)


@st.composite
def problems(draw):
    """Campaigns with budgets that may move by a share of themselves, under any total that can be kept."""
    count = draw(st.integers(1, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    step = draw(st.sampled_from([1, 100, STEP, DOLLAR]))
    now = np.maximum(rng.integers(1, 300 * DOLLAR // step, count), 1) * step
    raised = draw(st.integers(0, 100))
    least = np.maximum(now * rng.integers(0, 101, count) // 100 // step, 1) * step
    most = now * (100 + raised) // 100 // step * step
    below = rng.exponential(1.5, count) * (rng.random(count) > 0.1)
    above = below * np.where(rng.random(count) < 0.3, 1.0, rng.random(count))
    total = draw(st.integers(int(least.sum()), int(most.sum() * 1.3) + 1))
    idle = draw(st.sampled_from([0, total // 10, total]))
    curves = ValueCurves(now, below, above, draw(st.floats(0.05, 0.95)))
    return curves, AllocationBounds(least, most, total, step, idle, draw(st.floats(0.0, 2.0)))


@given(problems())
def test_no_split_breaks_a_bound_a_step_or_the_total_and_its_gap_is_small(problem):
    curves, bounds = problem
    split = allocate(curves, bounds)
    budgets, step = split.daily_micros, bounds.step_micros
    assert (budgets >= bounds.least_micros).all()
    assert (budgets <= bounds.most_micros).all()
    assert (budgets % step == 0).all()
    assert budgets.sum() <= bounds.total_micros
    assert split.unspent_micros == bounds.total_micros - budgets.sum() >= 0
    assert split.gap_micros >= 0
    # rounding costs at most a step of each campaign at its own marginal value, and floats a millionth of a millionth
    edge = np.maximum(np.minimum(curves.kink_micros, np.maximum(budgets - step, 1)), 1)
    steepest = np.maximum(
        curves.slope_below * (edge / curves.kink_micros) ** (curves.elasticity - 1), bounds.idle_slope
    )
    scale = float((curves.slope_below * curves.kink_micros).sum()) + split.price * bounds.total_micros
    assert split.gap_micros <= 2 * step * (steepest.sum() + split.price) + 1e-9 * scale + 1e-6


@given(problems())
def test_the_same_problem_always_has_the_same_split(problem):
    first, second = allocate(*problem), allocate(*problem)
    assert (first.daily_micros == second.daily_micros).all()
    assert first[1:] == second[1:]


@given(problems(), st.randoms(use_true_random=False))
def test_no_other_split_is_worth_more_than_the_gap(problem, random):
    curves, bounds = problem
    split = allocate(curves, bounds)
    rng = np.random.default_rng(random.randrange(2**32))
    for _ in range(20):
        other = rng.uniform(bounds.least_micros, bounds.most_micros)
        excess = other.sum() - bounds.total_micros
        if excess > 0:
            slack = other - bounds.least_micros
            other = other - slack * min(excess / max(slack.sum(), 1e-9), 1.0)
        left = min(max(bounds.total_micros - other.sum(), 0.0), bounds.idle_most_micros)
        worth = value_micros(curves, other).sum() + bounds.idle_slope * left
        assert worth <= split.gain_micros + split.gap_micros + 1e-6 * max(abs(worth), 1.0)


def test_it_agrees_with_a_general_solver():
    rng = np.random.default_rng(3)
    now = rng.integers(20, 200, 8) * DOLLAR
    slope = rng.uniform(0.5, 2.0, 8)
    curves = curves_of(now, slope)
    total = int(now.sum())
    split = allocate(curves, bounds_of(now * 0.5, now * 1.5, total))

    def cost(dollars):
        return -value_micros(curves, dollars * DOLLAR).sum() / DOLLAR

    solved = minimize(
        cost,
        now / DOLLAR,
        method="SLSQP",
        bounds=list(zip(now * 0.5 / DOLLAR, now * 1.5 / DOLLAR, strict=True)),
        constraints={"type": "eq", "fun": lambda dollars: dollars.sum() - total / DOLLAR},
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert split.gain_micros / DOLLAR == pytest.approx(-solved.fun, rel=1e-5)
    assert split.daily_micros / DOLLAR == pytest.approx(solved.x, abs=0.2)


def test_a_thousand_campaigns_are_split_in_less_than_a_second():
    rng = np.random.default_rng(5)
    now = rng.integers(2_000, 30_000, 1000) * STEP
    curves = curves_of(now, rng.gamma(4, 0.4, 1000), rng.gamma(4, 0.4, 1000) * 0.0)
    curves = curves_of(now, curves.slope_below, curves.slope_below * 0.6)
    bounds = bounds_of(now * 8 // 10, now * 12 // 10, int(now.sum()))
    allocate(curves, bounds)
    began = time.process_time()
    split = allocate(curves, bounds)
    assert time.process_time() - began < 1
    assert split.gap_micros < 1e-4 * split.gain_micros


def test_money_goes_where_the_next_dollar_is_shown_to_return_most():
    split = allocate(curves_of([50 * DOLLAR] * 2, [1.0, 2.0]), bounds_of([0, 0], [100 * DOLLAR] * 2, 100 * DOLLAR))
    assert split.daily_micros[1] > split.daily_micros[0]
    marginal = np.array([1.0, 2.0]) * (split.daily_micros / (50 * DOLLAR)) ** -0.3
    assert marginal[0] == pytest.approx(marginal[1], rel=1e-3) == pytest.approx(split.price, rel=1e-3)


def test_thin_data_attract_no_money():
    # the same return is expected of both; the lower bound of the second is far below it
    split = allocate(
        curves_of([50 * DOLLAR] * 2, [1.5, 1.5], [1.4, 0.2]),
        bounds_of([40 * DOLLAR] * 2, [60 * DOLLAR] * 2, 110 * DOLLAR),
    )
    assert split.daily_micros.tolist() == [60 * DOLLAR, 50 * DOLLAR]


def test_nothing_moves_unless_a_lower_bound_exceeds_what_is_expected_elsewhere():
    split = allocate(
        curves_of([50 * DOLLAR] * 3, [1.0, 1.2, 1.5], [0.7, 0.8, 0.9]),
        bounds_of([40 * DOLLAR] * 3, [60 * DOLLAR] * 3, 150 * DOLLAR),
    )
    assert split.daily_micros.tolist() == [50 * DOLLAR] * 3
    assert split.gap_micros == pytest.approx(0.0, abs=1e-3)


def test_money_that_no_campaign_is_worth_stays_unspent():
    bounds = bounds_of([40 * DOLLAR] * 2, [60 * DOLLAR] * 2, 120 * DOLLAR, idle_most_micros=20 * DOLLAR, idle_slope=1.0)
    split = allocate(curves_of([50 * DOLLAR] * 2, [1.5, 1.5], [0.9, 1.4]), bounds)
    assert split.daily_micros.tolist() == [50 * DOLLAR, 60 * DOLLAR]
    assert split.unspent_micros == 10 * DOLLAR


@pytest.mark.parametrize(
    ("least", "most", "total", "words"),
    [
        ([0], [10], 100, "give one of each"),
        ([60 * DOLLAR, 0], [50 * DOLLAR, DOLLAR], 100 * DOLLAR, "no whole step"),
        ([60 * DOLLAR] * 2, [70 * DOLLAR] * 2, 100 * DOLLAR, "raise the"),
        ([5, 5], [STEP - 1] * 2, 100 * DOLLAR, "no whole step"),
        ([-DOLLAR, 0], [DOLLAR] * 2, 100 * DOLLAR, "no whole step"),
    ],
)
def test_bounds_that_cannot_be_kept_are_refused(least, most, total, words):
    with pytest.raises(BadInput, match=words):
        allocate(curves_of([50 * DOLLAR] * 2, [1.0, 1.0]), bounds_of(least, most, total))


@pytest.mark.parametrize(
    ("below", "above", "elasticity"),
    [(1.0, 1.5, 0.7), (math.nan, 1.0, 0.7), (1.0, -0.1, 0.7), (1.0, 1.0, 1.0), (1.0, 1.0, 0.0)],
)
def test_curves_that_are_not_concave_are_refused(below, above, elasticity):
    with pytest.raises(BadInput, match="allowed"):
        curves_of([DOLLAR], [below], [above], elasticity)
