"""The hash an approval refers to changes with whatever the verdict rests on, and with nothing else."""

import math
from datetime import timedelta, timezone
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gaelp.config.places import names_in
from gaelp.gates import evidence_hash, load_gate
from gaelp.gates.verdict import overall

GATES = {name: load_gate(name) for name in names_in("gates")}
RULES = [(name, index) for name, gate in GATES.items() for index in range(len(gate.criteria))]
FIGURES = st.floats(allow_nan=True, allow_infinity=True)
unhurried = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])


@unhurried
@given(name=st.sampled_from(sorted(GATES)), value=FIGURES, data=st.data())
def test_another_figure_gives_another_hash(name, value, data, passing):
    gate = GATES[name]
    evidence = passing(gate)
    metric = data.draw(st.sampled_from(sorted(evidence.metrics)))
    other = evidence.model_copy(update={"metrics": {**evidence.metrics, metric: value}})
    same = repr(value) == repr(evidence.metrics[metric])
    assert (evidence_hash(gate, other) == evidence_hash(gate, evidence)) == same


@pytest.mark.parametrize(
    "changes",
    [{"run_id": "other"}, {"agent": "other"}, {"learned": False}, {"config_hash": "other"}],
    ids=lambda changes: next(iter(changes)),
)
def test_evidence_about_something_else_gives_another_hash(changes, passing):
    gate = GATES["simulation"]
    assert evidence_hash(gate, passing(gate, **changes)) != evidence_hash(gate, passing(gate))


def test_a_metric_more_or_less_or_another_time_gives_another_hash(passing, now):
    gate = GATES["simulation"]
    metrics = passing(gate).metrics
    fewer = {name: value for name, value in metrics.items() if name != "success_rate"}
    hashes = {
        evidence_hash(gate, passing(gate)),
        evidence_hash(gate, passing(gate, metrics=fewer)),
        evidence_hash(gate, passing(gate, metrics=metrics | {"extra": 0.0})),
        evidence_hash(gate, passing(gate, measured_at=now - timedelta(microseconds=1))),
    }
    assert len(hashes) == 4


@pytest.mark.parametrize(("name", "index"), RULES)
@pytest.mark.parametrize(
    "changes", [{"bound": 0.123}, {"minimum_sample": 7}, {"maximum_age_hours": None}, {"why": "other"}]
)
def test_a_gate_with_another_rule_gives_another_hash(name, index, changes, passing):
    gate = GATES[name]
    rules = list(gate.criteria)
    named = {rules[index].bound if key == "bound" else key: value for key, value in changes.items()}
    rules[index] = rules[index].model_copy(update=named)
    other = gate.model_copy(update={"criteria": tuple(rules)})
    assert evidence_hash(other, passing(gate)) != evidence_hash(gate, passing(gate))


def test_a_rule_left_out_or_another_alpha_gives_another_hash(passing):
    gate = GATES["scale"]
    fewer, bolder = gate.model_copy(update={"criteria": gate.criteria[1:]}), gate.model_copy(update={"alpha": 0.2})
    assert len({evidence_hash(each, passing(gate)) for each in (gate, fewer, bolder)}) == 3


def test_the_same_instant_in_another_time_zone_and_another_order_of_metrics_give_the_same_hash(passing, now):
    gate = GATES["pilot"]
    metrics = dict(reversed(passing(gate).metrics.items()))
    elsewhere = now.astimezone(timezone(timedelta(hours=-5)))
    assert evidence_hash(gate, passing(gate, measured_at=elsewhere, metrics=metrics)) == evidence_hash(
        gate, passing(gate)
    )


def test_the_three_figures_that_are_no_numbers_have_different_hashes(passing):
    gate = GATES["pilot"]
    hashes = {evidence_hash(gate, passing(gate, metrics={"roi": x})) for x in (math.nan, math.inf, -math.inf)}
    assert len(hashes) == 3


@pytest.mark.parametrize("outcomes", list(product(["pass", "fail", "inconclusive"], repeat=3)))
def test_fail_wins_over_inconclusive_and_that_over_pass(outcomes):
    rank = ["fail", "inconclusive", "pass"]
    assert overall(outcomes) == min(outcomes, key=rank.index)


def test_of_no_rule_at_all_nothing_is_concluded():
    assert overall([]) == "inconclusive"
