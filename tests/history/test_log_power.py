"""A plan says how much of a log settles the gate: more where bids vary less or the lift is smaller."""

import numpy as np
import pytest

from gaelp.errors import DataError
from gaelp.history.log_power import plan_log


def planned(logged, **options):
    return plan_log(logged, np.random.default_rng(1), reach=1.5, confidence=0.95, **options)


def test_smaller_lifts_and_narrower_bids_need_more_weeks(drawn_log):
    plan = planned(drawn_log())
    for spread in plan.spreads:
        assert list(spread.weeks) == sorted(spread.weeks, reverse=True)
    by_lift = np.array([spread.weeks for spread in plan.spreads])
    assert (np.diff(by_lift, axis=0) < 0).all()
    assert plan.own_spread == pytest.approx(0.4, rel=0.05)


def test_twice_the_campaigns_need_about_half_the_weeks(drawn_log):
    few, many = planned(drawn_log(campaigns=6)), planned(drawn_log(campaigns=12))
    assert many.spreads[2].weeks[0] / few.spreads[2].weeks[0] == pytest.approx(0.5, abs=0.2)


def test_a_log_that_is_too_small_is_not_planned_with(drawn_log):
    with pytest.raises(DataError, match="too small to plan with"):
        planned(drawn_log(campaigns=1, days=10))
