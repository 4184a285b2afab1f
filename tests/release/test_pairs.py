"""Pairs of campaign-days: what is compared is value per dollar spent, whatever a side spends."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.errors import DataError
from gaelp.gates.lift_test import LiftPlan
from gaelp.release.assignment import treated_days
from gaelp.release.pairs import PairRules, ReleaseDays, compare_arms, cut_pairs

PLAN = LiftPlan(alpha=0.05, minimum=20, clip_at=10)
RULES = PairRules(unit_micros=25_000_000, age_days_min=0)
SPEND = 50_000_000


def release(days=40, campaigns=10, *, lift=0.0, spend_share=1.0, percent=50, returns=1.3, known_share=None):
    """Every campaign-day returns the same per dollar, the treatment's by `lift` more."""
    treated = treated_days("k", [f"c{number}" for number in range(campaigns)], [percent] * days)
    spend = np.where(treated, SPEND * spend_share, SPEND).astype(np.int64)
    value = np.rint(spend * np.where(treated, returns * (1 + lift), returns)).astype(np.int64)
    return ReleaseDays(value, spend, treated, known_share)


@given(lift=st.floats(-0.9, 3), spend_share=st.floats(0.01, 5), returns=st.floats(0.1, 5))
def test_the_lift_is_in_value_per_dollar_however_much_a_side_spends(lift, spend_share, returns):
    comparison = compare_arms(release(lift=lift, spend_share=spend_share, returns=returns), RULES, PLAN)
    assert comparison.lift.lift == pytest.approx(lift, abs=1e-5)
    assert comparison.lift.pairs == 200


def test_campaigns_that_earn_differently_do_not_hide_the_lift():
    days = release(lift=0.2, spend_share=0.6)
    worth = np.exp(np.linspace(-2, 2, 10))
    richer = ReleaseDays(np.rint(days.value_micros * worth).astype(np.int64), days.spend_micros, days.treated)
    assert compare_arms(richer, RULES, PLAN).lift.lift == pytest.approx(0.2, abs=1e-5)


def test_an_agent_that_spends_less_is_shown_by_its_value_per_dollar_and_its_profit():
    comparison = compare_arms(release(lift=0.3, spend_share=0.6), RULES, PLAN)
    treatment, control = comparison.treatment, comparison.control
    assert treatment.campaign_days == control.campaign_days == 200
    assert (treatment.spend_micros, control.spend_micros) == (200 * 30_000_000, 200 * SPEND)
    assert (treatment.value_per_dollar, control.value_per_dollar) == (pytest.approx(1.69), pytest.approx(1.3))
    assert (treatment.profit_per_day_micros, control.profit_per_day_micros) == (20_700_000, 15_000_000)
    assert comparison.lift.lower > 0.05


def test_an_observation_is_near_the_value_per_dollar():
    pairs = cut_pairs(release(), RULES)
    assert pairs.control == pytest.approx(1.3)
    assert pairs.treatment == pytest.approx(1.3)


def test_pairs_come_in_the_order_in_which_they_became_old_enough():
    pairs = cut_pairs(release(days=9, campaigns=3), RULES)
    assert pairs.block.tolist() == sorted(pairs.block.tolist())
    assert len(pairs.block) == 4 * 3  # the ninth day is no block yet


@pytest.mark.parametrize(("age", "blocks"), [(0, 4), (1, 3), (2, 3), (3, 2), (7, 0), (100, 0)])
def test_a_pair_counts_when_both_of_its_days_are_old_enough(age, blocks):
    comparison = compare_arms(release(days=8), PairRules(unit_micros=1, age_days_min=age), PLAN)
    assert comparison.lift.pairs == 10 * blocks
    assert comparison.treatment.campaign_days == 10 * blocks


def test_without_a_pair_nothing_is_known():
    comparison = compare_arms(release(days=1), RULES, PLAN)
    assert math.isnan(comparison.lift.lift)
    assert (comparison.lift.lower, comparison.lift.upper, comparison.lift.pairs) == (-1, math.inf, 0)
    assert comparison.treatment.value_per_dollar is None


@pytest.mark.parametrize("percent", [0, 100])
def test_days_without_a_control_beside_them_are_not_compared(percent):
    assert len(cut_pairs(release(percent=percent), RULES).block) == 0


def test_at_a_tenth_each_treated_day_is_compared_with_the_other_day_of_its_block():
    days = release(days=20, percent=10)
    assert len(cut_pairs(days, RULES).block) == int(days.treated.sum()) == 20


@pytest.mark.parametrize("side", [True, False])
def test_a_block_in_which_a_side_spent_nothing_is_left_out_and_counted(side):
    days = release(days=4, campaigns=3)
    spend, value = days.spend_micros.copy(), days.value_micros.copy()
    day = int(np.flatnonzero(days.treated[:2, 0] == side)[0])
    spend[day, 0] = value[day, 0] = 0
    pairs = cut_pairs(ReleaseDays(value, spend, days.treated), RULES)
    assert (len(pairs.block), pairs.unspent) == (5, 1)
    assert (0, 0) not in list(zip(pairs.block.tolist(), pairs.campaign.tolist(), strict=True))


def test_a_day_that_sold_nothing_is_an_observation():
    days = release(days=4, campaigns=3)
    value = np.where(days.treated, 0, days.value_micros)
    pairs = cut_pairs(ReleaseDays(value, days.spend_micros, days.treated), RULES)
    assert pairs.treatment.tolist() == [0] * 6


def test_value_still_to_come_is_added_by_the_age_of_each_day():
    known = np.linspace(1, 0.5, 40)
    days = release(lift=0.2)
    late = ReleaseDays(
        np.rint(days.value_micros * known[:, None]).astype(np.int64), days.spend_micros, days.treated, known
    )
    comparison = compare_arms(late, RULES, PLAN)
    assert comparison.lift.lift == pytest.approx(0.2, abs=1e-5)
    assert comparison.control.value_per_dollar == pytest.approx(1.3, abs=1e-5)


def test_a_trend_favours_no_side():
    days = release(days=2000)
    trend = np.linspace(1, 20, 2000)[:, None]
    rising = ReleaseDays(np.rint(days.value_micros * trend).astype(np.int64), days.spend_micros, days.treated)
    assert compare_arms(rising, RULES, PLAN).lift.lift == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        ({"value_micros": np.full((4, 3), -1)}, "value_micros of the release has -1"),
        ({"spend_micros": np.ones((4, 2), np.int64)}, r"spend_micros of the release has shape \(4, 2\)"),
        ({"known_share": np.zeros(4)}, "known_share is not one positive number"),
        ({"known_share": np.ones(3)}, "known_share is not one positive number"),
    ],
)
def test_impossible_figures_are_refused(change, seen):
    good = {"value_micros": np.ones((4, 3), np.int64), "spend_micros": np.ones((4, 3), np.int64)}
    with pytest.raises(DataError, match=seen):
        ReleaseDays(**{**good, "treated": np.zeros((4, 3), bool), **change})
