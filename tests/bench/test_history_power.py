"""Policies with a known true lift on a small history: judged as phase 2 judges, once, and counted."""

import numpy as np
import pytest

from gaelp.bench.history_power import CASES, PowerSize, lift_gate, world_result
from gaelp.bench.power_summary import summarise_worlds
from gaelp.bench.true_lift import true_dollars, true_lifts
from gaelp.sandbox.incumbent import SynthesisSpec
from gaelp.sandbox.spec import load_sandbox_spec
from gaelp.sandbox.synthesis import synthesize
from gaelp.sandbox.topics import TOPICS

SEED = 1001
SIZE = PowerSize(campaigns=4, weeks=3, judged_days=(7, 21), true_weeks=1)
WANTED = ("better by 15%", "worse by 10%", "identical")


@pytest.fixture(scope="module")
def world():
    return load_sandbox_spec()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("histories")


@pytest.fixture(scope="module")
def result(world, folder):
    return world_result(world, SEED, SIZE, lift_gate(), folder, WANTED)


def judged(result, case, days):
    return next(each for each in result.judged if (each.case, each.days) == (case, days))


def test_a_better_policy_passes_and_a_worse_and_an_identical_one_do_not(result):
    assert judged(result, "better by 15%", 21).versions["judged"].failed == ()
    assert "lift_over_logging" in judged(result, "worse by 10%", 21).versions["judged"].failed
    assert judged(result, "identical", 21).versions["judged"].failed == ("lift_over_logging",)
    assert judged(result, "identical", 21).versions["realised"].lift == 0


def test_truth_has_the_sign_of_the_case(result):
    assert judged(result, "better by 15%", 21).true_lift > 0.05
    assert judged(result, "worse by 10%", 21).true_lift < -0.05
    assert judged(result, "identical", 21).true_lift == 0


def test_a_plan_predicts_more_passes_after_more_days(result):
    assert 0 < judged(result, "better by 15%", 7).predicted < judged(result, "better by 15%", 21).predicted < 1
    assert judged(result, "worse by 10%", 21).predicted < 0.01


def test_a_second_run_costs_nothing(world, folder, result, monkeypatch):
    monkeypatch.setattr("gaelp.bench.history_power.cached_log", None)
    assert world_result(world, SEED, SIZE, lift_gate(), folder, WANTED) == result


def test_the_summary_counts_passes_and_intervals_that_hold_the_truth(result):
    cases = summarise_worlds([result, result])["cases"]
    better, identical = cases["better by 15%, 21 days"], cases["identical, 21 days"]
    assert better["judged"]["passes"]["count"] == 2
    assert identical["judged"]["refused_by"] == {"lift_over_logging": 2}
    assert identical["judged"]["intervals_that_hold_the_truth"]["share"] == 1
    assert identical["worlds_truly_no_better"] == 2


def test_a_summary_without_plans_says_nothing_of_them(result):
    bare = result.model_copy(
        update={
            "plan": None,
            "judged": tuple(each.model_copy(update={"predicted": None}) for each in result.judged),
        }
    )
    summary = summarise_worlds([bare])
    assert summary["planned_weeks_for_15_percent"] == {}
    assert summary["cases"]["identical, 7 days"]["predicted_passes_by_realised_value"] == {}


def test_true_spend_of_the_incumbent_is_that_of_its_history(world):
    spec = SynthesisSpec(weeks=1, campaigns=2, seed=3)
    history = synthesize(spec, world, simulator_points=False)
    events = history.events
    billed = int(events.hours["cost_micros"].sum()) - int(events.credits["cost_micros"].sum())
    dollars = true_dollars(spec, world, [history.actions[:, number] for number in range(2)])
    assert dollars.spend_micros == billed
    assert dollars.value_micros > 0


def test_the_same_bids_have_no_lift(world):
    spec = SynthesisSpec(weeks=1, campaigns=2, seed=3)
    assert true_lifts(spec, world, {"same": np.zeros(TOPICS)}, weeks=1) == {"same": 0}


def test_every_case_stays_within_the_reach():
    assert all(np.all(np.abs(shift) <= np.log(1.5) + 1e-12) for shift in CASES.values())
