"""A test that is watched while it grows: when it decides, how it is saved, and how many observations it needs."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaelp.errors import BadInput, DataError
from gaelp.gates.sequential_test import SequentialPlan, SequentialTest, observations_needed

GIVEN = {"alpha": 0.05, "minimum": 30, "maximum": 2000}


def pairs(effect, runs=1000, looks=2000, seed=7):
    """Differences of return-like figures with mean 1, the treatment's moved by `effect`; shape (runs, looks)."""
    rng = np.random.default_rng(seed)
    control, treatment = rng.lognormal(-0.5, 1, (2, runs, looks))
    return treatment * (1 + effect) - control


def decided(plan, runs):
    """The decision of each run and the count it fell at, all runs watched at once by the plan's own sequence."""
    sequence = plan.sequence()
    decisions, counts = np.full(len(runs), "continue", dtype="<U12"), np.full(len(runs), plan.maximum)
    for column in runs[:, : plan.maximum].T:
        sequence.add(column)
        if sequence.count < plan.minimum:
            continue
        lower, upper = sequence.bounds()
        is_open = decisions == "continue"
        for name, hit in (("better", lower > plan.margin), ("worse", upper < plan.margin)):
            if plan.looks_for in ("both", name):
                decisions[is_open & hit], counts[is_open & hit] = name, sequence.count
    decisions[decisions == "continue"] = "inconclusive"
    return decisions, counts


def watched(test, stream):
    for x in stream:
        if test.observe(float(x)) != "continue":
            break
    return test.decision, test.count


@pytest.mark.parametrize("looks_for", ["both", "better", "worse"])
@pytest.mark.parametrize("support", [None, (-2.0, 2.0)])
def test_one_stream_is_decided_as_among_many(looks_for, support):
    given = {"alpha": 0.05, "minimum": 10, "maximum": 300, "looks_for": looks_for, "support": support}
    runs = np.clip(np.random.default_rng(1).normal([[-0.8], [0.0], [0.8]], 0.9, (3, 300)), -2, 2)
    decisions, counts = decided(SequentialPlan(**given), runs)
    assert [watched(SequentialTest(**given), run) for run in runs] == list(zip(decisions, counts, strict=True))
    sides = {"both": ["worse", "better"], "better": ["inconclusive", "better"], "worse": ["worse", "inconclusive"]}
    assert [decisions[0], decisions[2]] == sides[looks_for]


# What it costs and what it finds


@pytest.mark.parametrize("looks_for", ["both", "better", "worse"])
def test_identical_sides_are_found_different_at_most_at_rate_alpha_over_2000_looks(looks_for):
    decisions, _ = decided(SequentialPlan(**GIVEN, looks_for=looks_for), pairs(0.0))
    assert (decisions != "inconclusive").mean() <= 0.05


def test_a_treatment_that_loses_30_percent_is_caught_at_a_median_of_158_pairs_or_fewer():
    decisions, counts = decided(SequentialPlan(**GIVEN, looks_for="worse"), pairs(-0.3, runs=3000, looks=1000))
    assert (decisions == "worse").mean() >= 0.99
    assert np.median(counts) <= 158


def test_looking_for_both_costs_some_forty_pairs_more():
    decisions, counts = decided(SequentialPlan(**GIVEN), pairs(-0.3))
    assert (decisions == "worse").mean() >= 0.99
    assert np.median(counts) <= 200


def test_a_treatment_that_loses_15_percent_is_mostly_caught_before_2000_pairs():
    decisions, _ = decided(SequentialPlan(**GIVEN, looks_for="worse"), pairs(-0.15))
    assert (decisions == "worse").mean() >= 0.85
    assert (decisions == "better").sum() == 0


def test_the_margin_divides_better_from_worse():
    plan = SequentialPlan(**GIVEN, margin=0.15)
    share = {effect: decided(plan, pairs(effect, runs=300))[0] for effect in (-0.15, 0.15, 0.45)}
    assert (share[-0.15] == "worse").mean() >= 0.95
    assert (share[0.15] != "inconclusive").mean() <= 0.05
    assert (share[0.45] == "better").mean() >= 0.95


def test_nothing_is_decided_before_the_minimum_and_all_is_at_the_maximum():
    test = SequentialTest(alpha=0.05, minimum=20, maximum=25)
    assert [test.observe(1000.0 + x % 2) for x in range(19)] == ["continue"] * 19
    assert test.observe(1000.0) == "better"
    test = SequentialTest(alpha=0.05, minimum=20, maximum=25)
    assert [test.observe((-1.0) ** x) for x in range(25)] == ["continue"] * 24 + ["inconclusive"]


def test_a_decision_is_final_and_later_observations_are_not_counted():
    test = SequentialTest(alpha=0.05, minimum=2, maximum=50)
    assert watched(test, [5.0, 5.1] * 25)[0] == "better"
    count, interval = test.count, test.interval
    assert test.observe(-1e9) == "better"
    assert (test.count, test.interval) == (count, interval)


def test_equal_observations_decide_nothing():
    assert watched(SequentialTest(alpha=0.05, minimum=2, maximum=60, margin=-0.05), [0.0] * 60) == ("inconclusive", 60)


# What it refuses


@pytest.mark.parametrize("x", [math.nan, math.inf, -math.inf])
def test_an_observation_that_is_no_number_is_refused_and_not_counted(x):
    test = SequentialTest(**GIVEN)
    with pytest.raises(BadInput, match="observation 1 is"):
        test.observe(x)
    assert test.count == 0


def test_an_observation_outside_its_limits_is_refused():
    with pytest.raises(BadInput, match=r"observation 1 is 1\.5; allowed: -1 to 1"):
        SequentialTest(**GIVEN, support=(-1, 1)).observe(1.5)


@pytest.mark.parametrize(
    ("changes", "seen"),
    [
        ({"alpha": 0}, "alpha"),
        ({"alpha": 0.3}, "alpha"),
        ({"minimum": 1}, "minimum"),
        ({"minimum": 2001}, "minimum=2001 exceeds maximum=2000"),
        ({"margin": math.nan}, "margin"),
        ({"looks_for": "best"}, "looks_for"),
        ({"support": (1, 1)}, "the first must be smaller"),
        ({"support": (0, 1)}, "must lie inside the support"),
    ],
)
def test_a_plan_that_cannot_work_is_refused(changes, seen):
    with pytest.raises(BadInput, match=seen):
        SequentialTest(**{**GIVEN, **changes})


# Saved and continued


@settings(deadline=None, max_examples=40)
@given(
    x=st.lists(st.floats(-1, 1), min_size=1, max_size=40),
    cut=st.integers(0, 40),
    support=st.sampled_from([None, (-1.0, 1.0)]),
)
def test_a_saved_test_continues_as_if_never_interrupted(x, cut, support):
    given = {"alpha": 0.1, "minimum": 3, "maximum": 30, "support": support}
    whole, part = SequentialTest(**given), SequentialTest(**given)
    for value in x[:cut]:
        part.observe(value)
    again = SequentialTest(**given)
    again.load_state(json.loads(json.dumps(part.state())))
    assert [again.observe(value) for value in x[cut:]] == [whole.observe(value) for value in x][cut:]
    assert again.state() == whole.state()


def saved_state(**changes):
    test = SequentialTest(**GIVEN)
    for x in (1.0, 2.0, 4.0):
        test.observe(x)
    return {**test.state(), **changes}


@pytest.mark.parametrize(
    ("changes", "seen"),
    [
        ({"version": 2}, "version 2"),
        ({"decision": "better"}, "says better, its numbers say continue"),
        ({"decision": "best"}, "decision"),
        ({"sequence": {"count": 3, "mean": 1.0}}, "holds"),
        ({"sequence": {"count": 3, "mean": 1.0, "squares": -1.0, "cubes": 0.0}}, "squares"),
        ({"sequence": {"count": 2.5, "mean": 1.0, "squares": 1.0, "cubes": 0.0}}, "count"),
        ({"sequence": {"count": 3, "mean": math.nan, "squares": 1.0, "cubes": 0.0}}, "mean"),
        ({"extra": 1}, "unknown key"),
    ],
)
def test_a_damaged_state_is_refused_and_changes_nothing(changes, seen):
    test = SequentialTest(**GIVEN)
    before = test.state()
    with pytest.raises(DataError, match=seen):
        test.load_state(saved_state(**changes))
    assert test.state() == before


def test_a_state_of_another_plan_is_refused():
    with pytest.raises(DataError, match="a plan that changes midway has no error rate"):
        SequentialTest(alpha=0.1, minimum=30, maximum=2000).load_state(saved_state())


# How many are needed


@pytest.mark.parametrize("effect", [0.15, 0.3, 0.6])
def test_the_stated_number_has_the_stated_power(effect):
    plan = SequentialPlan(**GIVEN, looks_for="worse")
    needed = observations_needed(plan, effect, 1.0)
    decisions, counts = decided(plan, np.random.default_rng(8).normal(-effect, 1.0, (1000, 700)))
    caught = ((decisions == "worse") & (counts <= needed)).mean()
    assert 0.8 <= caught <= 0.92


@pytest.mark.parametrize("effect", [0.15, 0.3])
def test_heavy_tailed_pairs_are_decided_within_the_stated_number_too(effect):
    sd = math.sqrt((math.e - 1) * (1 + (1 - effect) ** 2))  # of one pair, lognormal with mean 1 and log-sd 1
    plan = SequentialPlan(**GIVEN, looks_for="worse")
    needed = observations_needed(plan, effect, sd)
    assert needed <= plan.maximum
    decisions, counts = decided(plan, pairs(-effect))
    assert ((decisions == "worse") & (counts <= needed)).mean() >= 0.8


@pytest.mark.parametrize("chances", [(0.1, 0.6, 0.3), (0.02, 0.9, 0.08), (0.2, 0.3, 0.5)])
def test_the_stated_number_has_about_the_stated_power_with_limits(chances):
    plan = SequentialPlan(**GIVEN, looks_for="better", support=(-1.0, 1.0))
    runs = np.random.default_rng(9).choice([-1.0, 0.0, 1.0], p=chances, size=(1500, 500))
    needed = observations_needed(plan, chances[2] - chances[0], runs.std())
    decisions, counts = decided(plan, runs)
    caught = ((decisions == "better") & (counts <= needed)).mean()
    assert 0.75 <= caught <= 0.87


def test_a_smaller_effect_a_larger_spread_more_power_and_two_sides_need_more():
    plan = SequentialPlan(**GIVEN, looks_for="better")
    base = observations_needed(plan, 0.3, 1.0)
    assert observations_needed(plan, 0.2, 1.0) > base
    assert observations_needed(plan, 0.3, 1.5) > base
    assert observations_needed(plan, 0.3, 1.0, power=0.95) > base
    assert observations_needed(SequentialPlan(**GIVEN), 0.3, 1.0) > base


def test_an_effect_beyond_reach_is_said_to_be():
    assert observations_needed(SequentialPlan(**GIVEN), 1e-6, 1.0) is None


def test_no_number_is_below_the_minimum():
    assert observations_needed(SequentialPlan(**GIVEN), 100.0, 1.0) == 30


@pytest.mark.parametrize(("effect", "sd", "power"), [(0, 1, 0.8), (1, 0, 0.8), (1, 1, 1), (math.nan, 1, 0.8)])
def test_an_impossible_question_is_refused(effect, sd, power):
    with pytest.raises(BadInput, match="allowed are effect > 0"):
        observations_needed(SequentialPlan(**GIVEN), effect, sd, power=power)
