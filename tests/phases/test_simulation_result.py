"""What phase 1 measured, in the form that every phase has."""

import pytest

from gaelp.phases.simulation_result import as_phase_result
from gaelp.types import Phase


def test_the_common_form_has_the_model_the_verdict_and_the_tables(whole):
    result = as_phase_result(whole.result, whole.folder)
    assert (result.phase, result.run_id, result.attempt) == (Phase.SIMULATION, "whole", 1)
    assert (result.verdict, result.model_hash) == (whole.result.verdict, whole.result.model_hash)
    comparison, intervals = result.tables
    assert len(comparison.rows) == len(whole.result.comparison.results)
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
