"""How `gaelp run` reports a run that did not finish."""

from types import SimpleNamespace

import pytest
import typer

from flows.commands.run import _raise_why, _show
from gaelp.errors import Refused
from gaelp.phases.phase_result import PhaseResult


def test_a_rejection_is_a_decision_and_not_an_error(capsys):
    rejected = SimpleNamespace(name="Rejected", message="rejected by Ada at gate simulation: the market moved")
    with pytest.raises(typer.Exit) as ended:
        _raise_why(rejected)
    assert ended.value.exit_code == Refused.exit_code
    assert capsys.readouterr().err == "The run was rejected by Ada at gate simulation: the market moved\n"


def test_a_gate_that_refuses_is_an_error_with_its_reason():
    with pytest.raises(Refused, match="1 of 6 rules"):
        _raise_why(SimpleNamespace(name="Refused", message="fails, 1 of 6 rules"))


@pytest.mark.parametrize(("with_tables", "shown"), [(True, True), (False, False)])
def test_a_finished_run_repeats_no_table_that_the_question_has_shown_and_says_where_the_pipeline_ends(
    passing_verdict, capsys, with_tables, shown
):
    written = {"phase": "simulation", "run_id": "r", "attempt": 1, "agent": "a", "learned": True, "seconds": 1}
    model = {"model": "model.bin", "model_hash": "0" * 64, "judged_on": "window"}
    phase = PhaseResult(**written, **model, tables=(), text="", verdict=passing_verdict())
    _show({"run_id": "r", "phases": [phase.model_dump(mode="json") | {"result": "x"}]}, with_tables=with_tables)
    said = capsys.readouterr().out
    assert ("threshold" in said) == shown
    assert "The next phase, history, is not part of this version: the pipeline ends here." in said
