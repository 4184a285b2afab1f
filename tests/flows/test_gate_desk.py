"""`gaelp gate`: show the verdict of a run, record a decision, and say what resumes the run, without a server."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from flows.gate_desk import decide, show_gate
from gaelp.clock import ManualClock, SystemClock
from gaelp.config import load_settings
from gaelp.errors import BadInput
from gaelp.gates.decisions import GateQuestion
from gaelp.phases.gate_approval import gate_approvals
from gaelp.phases.phase_result import PhaseResult, write_result
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.runs import RunRecord, note_end, note_run, read_end

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


@pytest.fixture
def answer(settings, passing_verdict, monkeypatch, capsys):
    """Approves the verdict of run r and returns what the command says."""
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    now = SystemClock().now()
    times = {"opened_at": now, "remind_at": now + timedelta(hours=1), "expires_at": now + timedelta(hours=2)}
    verdict = passing_verdict()
    asked = GateQuestion(run_id="r", gate="simulation", attempt=1, verdict=verdict, model_hash="0" * 64, **times)
    gate_approvals(settings).decisions().ask(asked)

    def say(choice="approve", *, code=asked.code, why="every rule holds", run="r"):
        decide(settings, choice, run, code=code, why=why, who="Ada", key=None)
        return capsys.readouterr()

    return say


def test_a_rejected_run_of_a_terminal_has_ended_and_no_resume_is_advised(answer, tmp_path):
    assert answer("reject").err == "run r has ended as Rejected: nothing is left to do\n"
    assert read_end(RunFolder(tmp_path, "r")).text == "Rejected by Ada at gate simulation: every rule holds"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"run": "nosuch", "code": "", "why": ""}, "no run 'nosuch'"),
        ({"code": "", "why": ""}, "--verdict is missing"),
        ({"why": " "}, "--why is missing"),
    ],
)
def test_an_incomplete_decision_is_refused_and_a_missing_run_is_named_first(answer, given, problem):
    with pytest.raises(BadInput, match=problem):
        answer(**given)


def test_an_approval_of_a_run_in_a_terminal_says_how_it_is_resumed(answer):
    said = answer()
    assert said.out == "approve recorded for gate simulation of run r, by Ada\n"
    assert said.err == "`gaelp resume r` resumes the run\n"


def test_an_approval_while_the_server_is_down_says_what_resumes_the_run(answer, tmp_path):
    record = {"config": "base", "overrides": (), "driver": "deployment", "driver_id": "x"}
    note_run(RunFolder(tmp_path, "r"), RunRecord(run_id="r", begun_at=AT, **record))
    assert answer().err == "its server is down: the run resumes when `gaelp up` runs\n"


@pytest.mark.parametrize("driver", ["terminal", "deployment"])
def test_an_approval_of_a_completed_run_advises_nothing(answer, tmp_path, driver):
    answer()
    record = {"config": "base", "overrides": (), "driver": driver, "driver_id": "x"}
    note_run(RunFolder(tmp_path, "r"), RunRecord(run_id="r", begun_at=AT, **record))
    note_end(RunFolder(tmp_path, "r"), "Completed", "", ManualClock(AT))
    said = answer()
    assert "was recorded at" in said.out
    assert said.err == "run r has ended (Completed): nothing is left to do\n"
