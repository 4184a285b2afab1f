"""The lift of a policy on logged decisions, where the truth is known."""

import numpy as np
import pytest

from gaelp.errors import DataError
from gaelp.history.logged_lift import LiftOptions, LoggedPolicy, group_lifts, logging_sd, policy_lift


def test_the_logging_policy_itself_has_no_lift(drawn_log):
    logged = drawn_log()
    same = LoggedPolicy("same", np.zeros(len(logged)), np.ones(len(logged), bool))
    lift = policy_lift(logged, same, np.random.default_rng(1), LiftOptions(replicates=100))
    assert lift.realised.lift == pytest.approx(0, abs=1e-12)
    assert lift.recalibrated.lift == pytest.approx(0, abs=1e-12)


def test_the_true_lift_lies_within_the_interval_by_both_estimators(drawn_log):
    logged, shift = drawn_log(campaigns=12), -0.3
    lower = LoggedPolicy("lower", np.full(len(logged), shift), np.ones(len(logged), bool))
    lift = policy_lift(logged, lower, np.random.default_rng(1), LiftOptions(replicates=100))
    truth = np.exp(-0.5 * shift) - 1  # a click costs the square root of the bid and is worth the same
    for report in (lift.realised, lift.recalibrated):
        assert report.lift_lower < truth < report.lift_upper
    assert lift.judged is lift.recalibrated


def test_a_campaign_that_would_lose_is_named(drawn_log):
    logged = drawn_log(campaigns=12)
    shift = np.where(logged.campaign == 3, 0.4, -0.3)
    groups = group_lifts(logged, LoggedPolicy("mixed", shift, np.ones(len(logged), bool)), confidence=0.95)
    harmed = [group for group in groups if group.upper < -0.05]
    assert [(group.kind, group.name) for group in harmed] == [("campaign", "campaign-3")]


def test_densities_of_another_distribution_are_refused(drawn_log):
    with pytest.raises(DataError, match="recorded densities differ"):
        logging_sd(drawn_log(density_factor=2.0))


def test_bids_that_never_varied_say_nothing(drawn_log):
    with pytest.raises(DataError, match="did not vary at random"):
        logging_sd(drawn_log(spread=0.0))
