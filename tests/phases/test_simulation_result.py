"""What phase 1 measured, in the form that every phase has."""

import pytest

from gaelp.phases.simulation_result import as_phase_result
from gaelp.types import Phase


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
