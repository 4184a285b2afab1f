"""What a gate asks is the verdict as computed now, and only an approval of that lets a run through."""

from datetime import UTC, datetime, timedelta

import pytest

from gaelp.config import load_settings
from gaelp.config.settings import GateSettings
from gaelp.errors import Refused
from gaelp.gates import judge
from gaelp.gates.decision_store import DecisionStore
from gaelp.gates.decisions import GateDecision
from gaelp.phases.declaration import PhaseDeclaration
from gaelp.phases.gate_questions import check_passed, find_decision, judging_time, question_about, questions_about
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.simulation_declaration import SIMULATION
from gaelp.types import Phase

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
PATIENCE = GateSettings(remind_hours=1, expire_hours=2)

TOY = PhaseDeclaration(
    phase=Phase.SIMULATION, work=lambda given: None, second_attempt="another_draw", inconclusive="hold"
)


@pytest.fixture
def store(tmp_path):
    return DecisionStore(tmp_path / "decisions.db")


@pytest.fixture
def question(make_result):
    result = make_result("r")
    return question_about(SIMULATION, result, result.verdict, NOW, PATIENCE)


def later(question, hours):
    moved = {"opened_at": NOW + timedelta(hours=hours), "expires_at": NOW + timedelta(hours=hours + 2)}
    return question.model_copy(update=moved)


def answered(question, choice="approve", minutes=5):
    return GateDecision(
        run_id=question.run_id,
        gate=question.gate,
        evidence_hash=question.evidence_hash,
        choice=choice,
        who="Ada",
        why="looked at it",
        decided_at=NOW + timedelta(minutes=minutes),
        through="command",
    )


def with_outcome(question, outcome):
    """The same evidence, judged otherwise."""
    results = [question.verdict.results[0].model_copy(update={"outcome": outcome}), *question.verdict.results[1:]]
    verdict = question.verdict.model_copy(update={"outcome": outcome, "results": tuple(results)})
    return question.model_copy(update={"verdict": verdict})


def test_an_approval_of_this_verdict_is_found(store, question):
    store.decide(answered(store.ask(question)))
    assert find_decision(store, later(question, 1)).choice == "approve"


def test_an_approval_holds_after_the_question_expired(store, question):
    store.decide(answered(store.ask(question)))
    assert find_decision(store, later(question, 30)).choice == "approve"


def test_where_the_stored_question_says_pass_and_the_verdict_does_not_the_approval_is_refused(store, question):
    store.decide(answered(store.ask(question)))
    with pytest.raises(Refused, match="says inconclusive; allowed: reject or rerun"):
        find_decision(store, with_outcome(question, "inconclusive"))


def test_a_question_that_was_stored_otherwise_is_put_again_as_computed(store, question):
    store.ask(with_outcome(question, "inconclusive"))
    assert store.ask(later(question, 1)).verdict.outcome == "pass"


def test_the_approval_of_another_model_is_refused(store, question):
    store.decide(answered(store.ask(question)))
    with pytest.raises(Refused, match=r"approved was verdict pass on model .* on model 000000000000"):
        find_decision(store, question.model_copy(update={"model_hash": "0" * 64}))


@pytest.mark.parametrize("choice", ["reject", "rerun"])
def test_to_stop_needs_no_more_than_to_have_been_said(store, question, choice):
    store.decide(answered(store.ask(question), choice))
    assert find_decision(store, with_outcome(question, "inconclusive")).choice == choice


def test_the_same_question_is_put_once_while_it_is_open(store, question):
    store.ask(question)
    assert store.ask(later(question, 1)).opened_at == NOW
    assert len(store.history("r")) == 1


def test_where_nobody_answered_in_time_it_is_asked_again(store, question):
    store.ask(question)
    assert store.ask(later(question, 30)).opened_at == NOW + timedelta(hours=30)


def test_evidence_that_grew_old_is_judged_again(make_result):
    result = make_result("r")
    again = judge(result.verdict.gate, result.verdict.evidence, NOW + timedelta(minutes=3))
    first = question_about(SIMULATION, result, result.verdict, NOW, PATIENCE)
    assert first.asks_the_same(question_about(SIMULATION, result, again, NOW + timedelta(minutes=3), PATIENCE))


def test_evidence_ages_until_the_run_has_gone_on_with_it_and_then_counts_as_approved(store, make_result, tmp_path):
    result, run, month = make_result("r"), RunFolder(tmp_path, "r"), NOW + timedelta(days=30)
    question = question_about(SIMULATION, result, result.verdict, NOW, PATIENCE)
    store.decide(answered(store.ask(question)))
    assert judging_time(run, store, result, month) == month
    run.phase(Phase.PILOT).path.mkdir(parents=True)
    assert judging_time(run, store, result, month) == NOW + timedelta(minutes=5)


def test_without_an_approval_evidence_ages_whatever_folders_there_are(store, make_result, tmp_path):
    result, run = make_result("r"), RunFolder(tmp_path, "r")
    run.phase(Phase.PILOT).path.mkdir(parents=True)
    store.decide(answered(store.ask(question_about(SIMULATION, result, result.verdict, NOW, PATIENCE)), "reject"))
    assert judging_time(run, store, result, NOW + timedelta(days=30)) == NOW + timedelta(days=30)


@pytest.mark.parametrize("choice", [None, "reject", "rerun"])
def test_what_follows_a_gate_begins_after_an_approval_only(store, make_result, tmp_path, choice):
    result, settings = make_result("r"), load_settings(overrides=[f"home={tmp_path}"], environ={}).settings
    asked = store.ask(question_about(TOY, result, result.verdict, NOW, PATIENCE))
    if choice:
        store.decide(answered(asked, choice))
    with pytest.raises(Refused, match="has not passed gate simulation"):
        check_passed(TOY, result, store, settings, NOW)


def test_an_approved_result_passes_unless_its_model_was_exchanged(store, make_result, tmp_path):
    result, settings = make_result("r"), load_settings(overrides=[f"home={tmp_path}"], environ={}).settings
    store.decide(answered(store.ask(question_about(TOY, result, result.verdict, NOW, PATIENCE))))
    check_passed(TOY, result, store, settings, NOW)
    result.model_file(tmp_path).write_bytes(b"another model")
    with pytest.raises(Refused, match="the model of phase simulation"):
        check_passed(TOY, result, store, settings, NOW)


def test_the_questions_about_a_result_are_those_on_its_evidence_and_model(store, question, make_result):
    store.ask(question)
    store.ask(later(question, 30))
    store.ask(later(question, 60).model_copy(update={"model_hash": "0" * 64}))
    assert [asked.opened_at for asked in questions_about(store, make_result("r"))] == [NOW, NOW + timedelta(hours=30)]


def test_a_phase_that_looks_or_spends_once_offers_no_rerun(question):
    once = question.model_copy(update={"may_rerun": False})
    assert once.choices == ("approve", "reject")
    assert with_outcome(once, "inconclusive").choices == ("reject",)
