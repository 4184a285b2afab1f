"""A value model that is wrong for one arm is noticed; one that is wrong for both is not called biased."""

import numpy as np
import pytest

from gaelp.bench.value_model_check import check_value_model
from gaelp.gates.lift_test import LiftPlan
from gaelp.release.assignment import treated_days
from gaelp.release.pairs import PairRules, ReleaseDays

RULES, PLAN = PairRules(unit_micros=500_000, age_days_min=0), LiftPlan(alpha=0.05, minimum=50, clip_at=10)
TREATED = treated_days("key", [str(each) for each in range(50)], [50.0] * 60)


def checked(treatment, control):
    value = np.random.default_rng(3).poisson(3.0, TREATED.shape) * 500_000
    predicted = np.where(TREATED, treatment, control) * 1_500_000
    days = ReleaseDays(value, np.full(TREATED.shape, 1_000_000), TREATED)
    return check_value_model(days, predicted.astype(np.int64), RULES, PLAN)


@pytest.mark.parametrize("errors", [(1.0, 1.0), (1.4, 1.4)])
def test_an_error_that_both_arms_share_is_no_bias(errors):
    check = checked(*errors)
    assert not check.is_biased
    assert check.interval.lift == pytest.approx(0, abs=0.05)


@pytest.mark.parametrize(("errors", "lift"), [((1.2, 1.0), 1 / 1.2 - 1), ((1.0, 1.2), 0.2)])
def test_an_error_of_20_percent_in_one_arm_is_noticed(errors, lift):
    check = checked(*errors)
    assert check.is_biased
    assert check.interval.lift == pytest.approx(lift, abs=0.06)
