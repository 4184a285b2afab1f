"""`gaelp gate show`: the verdict of every run that was judged, whether anybody was asked or not."""

import json
from datetime import UTC, datetime

import pytest

from flows.gate_desk import show_gate
from gaelp.config import load_settings
from gaelp.errors import BadInput
from gaelp.phases.phase_result import PhaseResult, write_result
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.runs import RunRecord, note_run

AT = datetime(2026, 11, 16, 12, tzinfo=UTC)


@pytest.fixture
def settings(tmp_path):
    record = {"config": "base", "overrides": (), "driver": "terminal", "driver_id": "x"}
    note_run(RunFolder(tmp_path, "r"), RunRecord(run_id="r", begun_at=AT, **record))
    return load_settings(overrides=[f"home={tmp_path}"], environ={}).settings


@pytest.fixture
def refused(tmp_path, settings, failing_verdict):
    """A run that its gate refused, so that nobody was asked."""
    written = {"phase": "simulation", "run_id": "r", "attempt": 1, "agent": "a", "learned": True, "seconds": 1}
    model = {"model": "model.bin", "model_hash": "0" * 64, "judged_on": "window"}
    shown = {"tables": (), "text": ""}
    write_result(tmp_path, PhaseResult(**written, **model, **shown, verdict=failing_verdict()))


@pytest.mark.usefixtures("refused")
def test_a_run_that_its_gate_refused_is_shown_rule_by_rule(settings, capsys):
    show_gate(settings, "r", as_json=False)
    shown = capsys.readouterr().out
    assert "lead_over_constant" in shown
    assert "It cannot be approved: only a verdict that passed can." in shown
    assert "Nobody is asked: the gate refused it." in shown
    show_gate(settings, "r", as_json=True)
    assert json.loads(capsys.readouterr().out)["verdict"]["outcome"] == "fail"


def test_a_run_that_was_not_judged_yet_is_bad_input(settings):
    with pytest.raises(BadInput, match="has not reached a gate yet"):
        show_gate(settings, "r", as_json=False)
