"""The rules, measured: healthy campaigns are left alone, broken ones are stopped within the stated hours.

The whole measurement, a thousand campaign-months, is bench/budget_rules.py; by default this is a small one of the same
code, and the slow test is the whole one with another seed.
"""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from gaelp.bench.campaign_months import FAULTS
from gaelp.bench.rule_trial import FALSE_KILLS_MAX, STATED_HOURS, HealthyTrial, fault_trial, healthy_trial, not_kept
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
    figures = faults[fault]
    assert [figure["kept"] for figure in figures["stated"]] == [True] * len(STATED_HOURS[fault])
    for whom, hours in STATED_HOURS[fault].items():
        assert figures[whom]["campaigns"] >= 3
        assert figures[whom]["median_hours"] <= figures[whom]["p95_hours"] <= hours


def test_faults_that_cost_money_are_stopped_in_small_campaigns_too(faults):
    for fault in ("ten_times_the_bid", "pacing_stuck_open"):
        assert faults[fault]["pilot_sized"]["caught_share"] == 1


def test_a_throttle_stuck_shut_costs_no_money_so_it_is_told_and_not_stopped(faults):
    assert faults["pacing_stuck_shut"]["all"]["caught_share"] == 0
    assert faults["pacing_stuck_shut"]["first_word"]["caught_share"] == 1


def tighter(rule):
    return rule.model_copy(update={"at_most": rule.share.model_copy(update={"percent": 120})})


def test_a_rule_set_that_is_too_strict_is_seen_to_be():
    strict = [tighter(rule) if rule.id == "spend-rate-3h" else rule for rule in RULES.rules]
    rules = RULES.model_copy(update={"rules": tuple(strict)})
    trial = healthy_trial(rules, SIGNALS, 3, np.random.default_rng(5))
    assert trial.killed == 3
    assert trial.kills_by_rule == {"spend-rate-3h": 3}


def test_what_is_not_kept_is_named_with_what_was_seen(faults):
    assert not_kept(HealthyTrial(months=1000, killed=10), faults) == ()
    late = faults | {"click_fraud": {"stated": [{"for": "busy", "p95_hours": 24, "seen": 25.0, "kept": False}]}}
    assert not_kept(HealthyTrial(months=1000, killed=11), late) == (
        "false kills: 1.10% of 1000 campaign-months; stated: at most 1%",
        "click_fraud (busy): 95% after 25 hours; stated: within 24 hours",
    )


def test_a_fault_that_is_never_stopped_is_not_kept():
    lame = tuple(rule.model_copy(update={"breach": "alert"}) for rule in RULES.rules)
    rules = RULES.model_copy(update={"rules": lame})
    shortened = fault_trial(rules, SIGNALS, 6, np.random.default_rng(6), watched_hours=13)
    assert not_kept(HealthyTrial(months=1), shortened)[0] == (
        "ten_times_the_bid (all): 95% after no number of hours; stated: within 12 hours"
    )


@pytest.fixture
def bench():
    path = Path(__file__).resolve().parents[2] / "bench" / "budget_rules.py"
    spec = importlib.util.spec_from_file_location("bench_budget_rules", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_bench_fails_and_says_why_when_the_rules_do_not_keep_what_is_stated(bench, monkeypatch, capsys):
    strict = [tighter(rule) if rule.id == "spend-rate-3h" else rule for rule in RULES.rules]
    monkeypatch.setattr(bench, "load_rules", lambda _: RULES.model_copy(update={"rules": tuple(strict)}))
    assert bench.main(["--months", "2", "--faulty", "2"]) == 1
    printed = capsys.readouterr()
    assert "NOT KEPT: false kills: 100.00% of 2 campaign-months; stated: at most 1%\n" in printed.err
    assert [f"NOT KEPT: {line}" for line in json.loads(printed.out)["not_kept"]] == printed.err.splitlines()


def test_the_bench_passes_when_everything_was_kept(bench, monkeypatch, capsys, faults):
    monkeypatch.setattr(bench, "healthy_trial", lambda *_: HealthyTrial(months=1))
    monkeypatch.setattr(bench, "fault_trial", lambda *_: faults)
    assert bench.main([]) == 0
    assert (json.loads(capsys.readouterr().out)["not_kept"], capsys.readouterr().err) == ([], "")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_thousand_campaign_months_and_150_of_each_fault_keep_everything_that_is_stated():
    trial = healthy_trial(RULES, SIGNALS, 1000, np.random.default_rng(20261116))
    faults = fault_trial(RULES, SIGNALS, 150, np.random.default_rng(61116202))
    assert trial.months == 1000
    assert trial.killed <= FALSE_KILLS_MAX * 1000
    assert {name: [figure["kept"] for figure in figures["stated"]] for name, figures in faults.items()} == {
        name: [True] * len(hours) for name, hours in STATED_HOURS.items()
    }
    assert not_kept(trial, faults) == ()
