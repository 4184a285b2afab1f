"""What the watch of `gaelp up` wakes: runs suspended at a gate that is decided, and no others."""

from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from flows import flow_runs
from flows.answers import key_prefix
from gaelp.config import load_settings
from gaelp.gates.decisions import GateDecision, GateQuestion
from gaelp.phases.gate_approval import gate_approvals
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.runs import RunRecord, note_run

NOW = datetime.now(UTC)


@pytest.fixture
def settings(tmp_path):
    record = {"config": "base", "overrides": (), "driver": "deployment", "driver_id": "flow-run"}
    note_run(RunFolder(tmp_path, "r"), RunRecord(run_id="r", begun_at=NOW, **record))
    return load_settings(overrides=[f"home={tmp_path}"], environ={}).settings


@pytest.fixture
def question(settings, passing_verdict):
    times = {"opened_at": NOW, "remind_at": NOW + timedelta(hours=1), "expires_at": NOW + timedelta(hours=2)}
    verdict = passing_verdict()
    asked = GateQuestion(run_id="r", gate="simulation", attempt=1, verdict=verdict, model_hash="0" * 64, **times)
    return gate_approvals(settings).decisions().ask(asked)


@pytest.fixture
def woken(monkeypatch, settings):
    """The decisions with which runs are woken whose flow run is suspended under this key."""

    def look(pause_key, flow_run_id="flow-run"):
        state = SimpleNamespace(state_details=SimpleNamespace(pause_key=pause_key))
        paused = [SimpleNamespace(id=flow_run_id, state=state)]
        client = SimpleNamespace(read_flow_runs=lambda flow_run_filter: paused)
        decisions = []

        @contextmanager
        def get_client(*, sync_client):
            yield client

        monkeypatch.setattr(flow_runs, "get_client", get_client)
        monkeypatch.setattr(flow_runs, "wake", lambda _, decision: decisions.append(decision.choice))
        flow_runs.wake_decided(settings)
        return decisions

    return look


def approve(settings, question):
    about = {"run_id": "r", "gate": "simulation", "evidence_hash": question.evidence_hash, "through": "command"}
    decision = GateDecision(**about, choice="approve", who="Ada", why="looked", decided_at=datetime.now(UTC))
    gate_approvals(settings).decisions().decide(decision)


def test_a_run_is_woken_once_its_gate_is_decided(settings, question, woken):
    key = f"{key_prefix(question)}1"
    assert woken(key) == []
    approve(settings, question)
    assert woken(key) == ["approve"]


def test_a_run_that_waits_for_its_next_phase_and_a_run_of_another_home_sleep_on(settings, question, woken):
    approve(settings, question)
    assert woken("phase-pilot-1-0-1") == []
    assert woken(f"{key_prefix(question)}1", flow_run_id="of another home") == []
