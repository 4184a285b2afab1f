"""What phase 1 measured, in the form that every phase has."""

from pathlib import Path

import pytest

from gaelp.phases.market_limits import market_limits
from gaelp.phases.simulation_result import SimulationResult, as_phase_result
from gaelp.types import Phase

OLDER = Path(__file__).resolve().parents[1] / "fixtures" / "home-before-database" / "home" / "runs"


def test_the_common_form_has_the_model_the_verdict_and_the_tables(whole):
    result = as_phase_result(whole.result, whole.folder)
    assert (result.phase, result.run_id, result.attempt) == (Phase.SIMULATION, "whole", 1)
    assert (result.verdict, result.model_hash) == (whole.result.verdict, whole.result.model_hash)
    comparison, intervals, money = result.tables
    assert len(comparison.rows) == len(money.rows) == len(whole.result.comparison.results)
    assert [row[0] for row in intervals.rows] == [
        "reward",
        "headroom_share",
        "lead_over_constant",
        "lead_over_best_rule",
        "success_rate",
        "ruined_share",
    ]


@pytest.mark.parametrize(
    ("checkpoint", "model", "text"),
    [
        ("1.safetensors", "checkpoints/1.safetensors", "checkpoint 1.safetensors did best"),
        (None, "rules.yaml", "so the rule is the agent"),
    ],
)
def test_the_model_is_the_checkpoint_or_the_rules_and_the_text_says_which(whole, checkpoint, model, text):
    changed = whole.result.model_copy(update={"checkpoint": checkpoint, "learned": checkpoint is not None})
    result = as_phase_result(changed, whole.folder)
    assert result.model == model
    assert text in result.text


def test_the_text_says_what_no_bidder_reached_on_the_market(whole):
    [floor, *others] = whole.result.verdict.gate.criteria
    gate = whole.result.verdict.gate.model_copy(
        update={"criteria": (floor.model_copy(update={"at_least": 1.02}), *others)}
    )
    verdict = whole.result.verdict.model_copy(update={"gate": gate})
    result = as_phase_result(whole.result.model_copy(update={"verdict": verdict}), whole.folder)
    assert "No bidder reached a reward_lower_95 of 1.02 on this market" in result.text


@pytest.mark.parametrize("path", sorted(OLDER.glob("*/simulation.json")), ids=lambda path: path.parent.name)
def test_a_result_from_before_campaigns_were_compared_one_by_one_is_read(path):
    result = SimulationResult.model_validate_json(path.read_bytes())
    assert result.comparison.of(result.agent).against_best is None
    assert result.comparison.of(result.agent).success_rate > 0.9
    assert isinstance(market_limits(result.verdict.gate, result.comparison), tuple)
