"""The rules, measured: healthy campaigns are left alone, broken ones are stopped within the stated hours.

The whole measurement, a thousand campaign-months, is bench/budget_rules.py; this is a small one of the same code.
"""

import numpy as np
import pytest

from gaelp.budget.campaign_months import FAULTS
from gaelp.budget.rule_trial import STATED_HOURS, fault_trial, healthy_trial
from gaelp.budget.rules import load_rules
from gaelp.budget.signals import load_signals

RULES, SIGNALS = load_rules("campaign"), load_signals()


def test_healthy_campaigns_are_seldom_killed_or_held():
    trial = healthy_trial(RULES, SIGNALS, 40, np.random.default_rng(5))
    assert trial.months == 40
    assert trial.killed <= 1  # at 1% a month two would be a chance of one in sixteen
    assert trial.held <= 4
    assert trial.figures()["alerts_per_campaign_month"]["day-spend-95"] < 1


@pytest.fixture(scope="module")
def faults():
    return fault_trial(RULES, SIGNALS, 16, np.random.default_rng(6))


def test_every_fault_is_planted_into_the_same_campaigns(faults):
    assert set(faults) == set(FAULTS) == set(STATED_HOURS)
    assert len({figures["all"]["campaigns"] for figures in faults.values()}) == 1
    assert faults["click_fraud"]["all"]["campaigns"] >= 12


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_a_fault_is_caught_within_the_stated_hours(faults, fault):
    whom, hours = STATED_HOURS[fault]
    figures = faults[fault]
    assert figures["stated"] == {"for": whom, "p95_hours": hours, "kept": True}
    assert figures[whom]["campaigns"] >= 3
    assert figures[whom]["median_hours"] <= figures[whom]["p95_hours"] <= hours


def test_faults_that_cost_money_are_stopped_in_small_campaigns_too(faults):
    for fault in ("ten_times_the_bid", "pacing_stuck_open"):
        assert faults[fault]["pilot_sized"]["caught_share"] == 1


def test_a_throttle_stuck_shut_costs_no_money_so_it_is_told_and_not_stopped(faults):
    assert faults["pacing_stuck_shut"]["all"]["caught_share"] == 0
    assert faults["pacing_stuck_shut"]["first_word"]["caught_share"] == 1


def test_a_rule_set_that_is_too_strict_is_seen_to_be():
    strict = [
        rule.model_copy(update={"limit_percent": 120}) if rule.id == "spend-rate-3h" else rule for rule in RULES.rules
    ]
    rules = RULES.model_copy(update={"rules": tuple(strict)})
    trial = healthy_trial(rules, SIGNALS, 3, np.random.default_rng(5))
    assert trial.killed == 3
    assert trial.kills_by_rule == {"spend-rate-3h": 3}
