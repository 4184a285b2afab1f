"""Agreement of market and history about which policy is better."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.errors import DataError
from gaelp.history.policy_ranking import rank_policies

MARKET = {"agent": 3.0, "rule": 2.0, "logging": 1.0}


@given(scale=st.floats(0.1, 10), shift=st.floats(-5, 5))
def test_same_order_in_other_units_agrees_fully(scale, shift):
    ranking = rank_policies(MARKET, {name: scale * value + shift for name, value in MARKET.items()})
    assert (ranking.spearman, ranking.kendall) == (pytest.approx(1), pytest.approx(1))
    assert ranking.same_best
    assert ranking.regret == 0


def test_opposite_order_has_the_regret_of_the_wrong_choice():
    ranking = rank_policies(MARKET, {"agent": 1.0, "rule": 2.0, "logging": 4.0})
    assert ranking.spearman == pytest.approx(-1)
    assert not ranking.same_best
    assert ranking.regret == pytest.approx(0.75)
    assert ranking.policies == ("agent", "rule", "logging")


def test_two_policies_or_different_ones_are_refused():
    with pytest.raises(DataError, match="saw 2 policies"):
        rank_policies({"a": 1, "b": 2}, {"a": 1, "b": 2})
    with pytest.raises(DataError, match="'rule' is valued in one"):
        rank_policies(MARKET, {"agent": 1.0, "logging": 2.0})
