"""What value and cost achieve towards each objective, and that breaking a target never pays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.config.objective import VALUE, Objective
from gaelp.market.objective import PENALTY, achieved_micros, least_price, slack_log, target_return

PROFIT = Objective(kind="profit")
ROAS = Objective(kind="target_roas", target_roas=2)
CPA = Objective(kind="target_cpa", target_cpa_micros=10)

amounts = st.floats(0, 1e9)


def achieved(objective, value, cost, optimum=1e12, target=2.0):
    arrays = (np.array([float(number)]) for number in (value, cost))
    return float(achieved_micros(objective, *arrays, target=np.array([target]), optimum_micros=np.array([optimum]))[0])


def test_each_objective_counts_what_it_says():
    assert achieved(VALUE, 10, 7) == 10
    assert achieved(PROFIT, 10, 7) == 3
    assert achieved(PROFIT, 4, 7) == -3
    assert achieved(ROAS, 14, 7) == 14
    assert achieved(ROAS, 13, 7) == 13 - PENALTY
    assert achieved(CPA, 13, 7) == 13 - PENALTY


def test_a_target_cpa_is_a_target_return_of_conversion_value_over_cpa():
    assert target_return(CPA, np.array([20, 5])).tolist() == [2.0, 0.5]
    assert target_return(ROAS, np.array([20, 5])).tolist() == [2.0, 2.0]
    assert target_return(PROFIT, np.array([20, 5])).tolist() == [0.0, 0.0]
    assert [least_price(objective) for objective in (VALUE, PROFIT, ROAS, CPA)] == [0, 1, 0, 0]


@given(amounts, amounts, amounts)
def test_a_missed_target_never_achieves_more_than_the_optimum(value, cost, optimum):
    if value < 2 * cost:
        assert achieved(ROAS, value, cost, optimum) <= optimum


@given(amounts, amounts, st.floats(0.01, 0.74))
def test_spend_below_three_quarters_of_the_target_at_the_margin_lowers_what_is_achieved(value, cost, share):
    """So where the optimum's price of money is below that share of the target, breaking the target costs."""
    assert PENALTY / (1 + PENALTY) == 0.75
    if value <= 2 * cost:
        more_cost = 1e3
        more = achieved(ROAS, value + share * 2 * more_cost, cost + more_cost)
        assert more < achieved(ROAS, value, cost)


def test_slack_is_zero_on_target_and_before_anything_was_bought():
    on, none, short = (
        slack_log(np.array([value]), np.array([cost]), np.array([2.0]), np.array([5.0]))[0]
        for value, cost in ((80.0, 40.0), (0.0, 0.0), (60.0, 40.0))
    )
    assert on == pytest.approx(0)
    assert none == 0
    assert short < 0
