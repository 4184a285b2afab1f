"""Sides of equal mean and unequal spread: what gate 4 configures keeps its alpha, the sequence before it did not.

The whole measurement, 2,000 runs of 2,000 looks, is bench/lift_alarms.py and the slow test; by default this is a small
one of the same code, with another seed.
"""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from gaelp.bench.lift_trial import FALSE_ALARMS_MAX, SIDES, lift_trial, not_kept
from gaelp.gates.criteria import load_gate
from gaelp.gates.lift_test import lift_plan

GATE = load_gate("scale")
RULE = GATE.criteria[0]
PLAN = lift_plan(GATE, RULE)
UNEQUAL = {name: SIDES[name] for name in ("lognormal 1.5 against 0.5", "zero-inflated 0.10 against 0.02")}
SMALL = {"runs": 250, "looks": 1000, "seed": 71, "sides": UNEQUAL}


def test_gate_4_keeps_its_alpha_when_spreads_differ_and_finds_a_loss_of_30_percent():
    results = lift_trial(PLAN, RULE.threshold, **SMALL)
    assert not_kept(results) == []
    assert results["lognormal 1.5 against 0.5"]["power"]["-30%"]["found"] > 0.7
    assert results["lognormal 1.5 against 0.5"]["promoted"]["+50%"]["found"] > 0.5


def test_the_sequence_used_before_would_not_have_passed():
    results = lift_trial(PLAN.model_copy(update={"clip_at": None}), RULE.threshold, **SMALL)
    assert results["lognormal 1.5 against 0.5"]["false_worse"] > FALSE_ALARMS_MAX
    assert results["zero-inflated 0.10 against 0.02"]["false_better"] > FALSE_ALARMS_MAX
    assert len(not_kept(results)) >= 2


def test_every_pair_of_sides_has_equal_means():
    for treatment, control in SIDES.values():
        rng = np.random.default_rng(5)
        assert treatment(rng, (1000, 1000)).mean() == pytest.approx(1, rel=0.03)
        assert control(rng, (1000, 1000)).mean() == pytest.approx(1, rel=0.03)


@pytest.mark.slow
def test_the_whole_measurement_finds_no_rate_above_6_percent(capsys):
    path = Path(__file__).resolve().parents[2] / "bench" / "lift_alarms.py"
    spec = importlib.util.spec_from_file_location("lift_alarms", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.main(["--seed", "72"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["runs"], report["looks"], report["not_kept"]) == (2000, 2000, [])
