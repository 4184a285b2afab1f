"""The policy of the run decides which answers count; an answer that does not count uses nothing up."""

import json
from datetime import UTC, datetime, timedelta

import pytest
import typer

from flows.gate_desk import decide
from gaelp.approvals import ApprovalStore, load_policy, new_key, stricter
from gaelp.clock import SystemClock
from gaelp.config import load_settings
from gaelp.config.settings import GateSettings
from gaelp.errors import BadInput, Refused, WaitingForPerson
from gaelp.phases.gate_answers import approvals_of_run, check_answer
from gaelp.phases.gate_approval import gate_approvals
from gaelp.phases.gate_questions import question_about
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.run_settings import keep_settings
from gaelp.phases.runs import RunRecord, note_run
from gaelp.phases.simulation_declaration import SIMULATION

PATIENCE = GateSettings(remind_hours=1, expire_hours=2)


@pytest.fixture
def loaded(tmp_path):
    def load(policy):
        return load_settings(overrides=[f"home={tmp_path}", f"approvals.policy={policy}"], environ={})

    return load


@pytest.fixture
def run_under(tmp_path, loaded, make_result):
    """A run that waits at its first gate under a policy, and what it asks."""

    def make(policy):
        folder = RunFolder(tmp_path, "r")
        record = {"run_id": "r", "begun_at": datetime.now(UTC), "config": None, "overrides": (), "driver_id": "x"}
        note_run(folder, RunRecord(**record, driver="terminal"))
        kept = keep_settings(folder, loaded(policy))
        now = SystemClock().now()
        result = make_result("r", measured_at=now)
        question = question_about(SIMULATION, result, result.verdict, now, PATIENCE)
        return gate_approvals(kept.settings, kept.policy).decisions().ask(question)

    return make


@pytest.fixture
def keys(tmp_path):
    """ann of finance and bob of marketing, both trusted."""
    made = {name: new_key(name) for name in ("ann", "bob")}
    approvers = [
        {"name": name, "public_key": key.public_key, "roles": [role], "added_at": "2026-01-01T00:00:00Z"}
        for (name, key), role in zip(made.items(), ("finance", "marketing"), strict=True)
    ]
    (tmp_path / "approvers.yaml").write_text(json.dumps({"approvers": approvers}), encoding="utf-8")
    return made


def answer(settings, question, choice="approve", key=None):
    decide(settings, choice, "r", code=question.code, why="looked at it", who="eve", key=key)


def test_an_unsigned_approval_under_the_default_policy_does_not_block_a_live_run(run_under, loaded, keys, capsys):
    question = run_under("live")
    for policy in ("sandbox", "live"):
        with pytest.raises(Refused, match="takes signed approvals only"):
            answer(loaded(policy).settings, question)
    live = gate_approvals(loaded("live").settings)
    assert live.decisions().decision(question) is None
    with pytest.raises(typer.Exit) as waiting:
        answer(loaded("sandbox").settings, question, key=keys["ann"])
    assert waiting.value.exit_code == WaitingForPerson.exit_code
    recorded = (
        "signature of ann recorded for gate simulation of run r. Signed by ann. Still needed: 1 more of 2"
        " approvers (bob can sign)"
    )
    assert recorded in capsys.readouterr().out
    answer(loaded("sandbox").settings, question, key=keys["bob"])
    assert len(live.decisions().decision(question).signatures) == 2


def test_where_the_command_is_stricter_than_the_run_its_policy_holds(run_under, loaded):
    question = run_under("sandbox")
    with pytest.raises(Refused, match="takes signed approvals only"):
        answer(loaded("live").settings, question)
    answer(loaded("sandbox").settings, question)


def test_a_signature_on_a_gate_that_was_rejected_is_refused_before_it_is_given(run_under, loaded, keys):
    question = run_under("live")
    settings = loaded("live").settings
    answer(settings, question, "reject")
    for name in ("ann", "bob"):
        with pytest.raises(Refused, match="was decided by eve"):
            answer(settings, question, key=keys[name])
    store = ApprovalStore(gate_approvals(settings).place, SystemClock())
    assert store.approvals(gate_approvals(settings)._action(question)) == ()


def test_the_same_answer_again_is_reported_as_recorded_and_signs_nothing(run_under, loaded, capsys):
    question = run_under("sandbox")
    settings = loaded("sandbox").settings
    answer(settings, question)
    answer(settings, question)
    assert "was recorded at" in capsys.readouterr().out


def test_an_answer_that_is_not_offered_or_too_late_is_refused(run_under, loaded):
    question = run_under("sandbox")
    store = gate_approvals(loaded("sandbox").settings).decisions()
    once = question.model_copy(update={"may_rerun": False})
    with pytest.raises(Refused, match="allowed: approve or reject"):
        check_answer(store, once, "rerun", question.opened_at)
    with pytest.raises(Refused, match="expired"):
        check_answer(store, question, "approve", question.opened_at + timedelta(hours=3))


def test_a_run_from_before_policies_were_recorded_has_the_one_of_its_configuration(run_under, loaded, tmp_path):
    run_under("sandbox")
    folder = RunFolder(tmp_path, "r")
    folder.settings.unlink()
    record = {"run_id": "r", "begun_at": datetime.now(UTC), "config": "production", "overrides": (), "driver_id": "x"}
    note_run(folder, RunRecord(**record, driver="terminal"))
    assert not approvals_of_run(loaded("sandbox").settings, "r").policy.sandbox


def test_a_run_that_is_not_there_is_named(loaded):
    with pytest.raises(BadInput, match="no run 'r'"):
        approvals_of_run(loaded("sandbox").settings, "r")


def test_the_stricter_policy_is_the_one_that_asks_for_more():
    live, sandbox = load_policy("live"), load_policy("sandbox")
    assert stricter(live, sandbox) == stricter(sandbox, live) == live
    three = live.model_copy(update={"quorum": 3})
    assert stricter(live, three) == stricter(three, live) == three
    other = live.model_copy(update={"why": "the same, said otherwise"})
    assert stricter(live, other) == live
