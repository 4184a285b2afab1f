"""What a gate asks is the verdict as computed now, and only an approval of that lets a run through."""

from datetime import UTC, datetime, timedelta

import pytest

from gaelp.config.settings import GateSettings
from gaelp.errors import Refused
from gaelp.gates import judge
from gaelp.gates.decision_store import DecisionStore
from gaelp.gates.decisions import Decision
from gaelp.phases.gate_questions import find_decision, put_question, question_about
from gaelp.phases.simulation import SIMULATION

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
PATIENCE = GateSettings(remind_hours=1, expire_hours=2)


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
    return Decision(
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


def nobody(_question):
    return None


def test_an_approval_of_this_verdict_is_found(store, question):
    store.decide(answered(put_question(store, question, nobody)))
    assert find_decision(store, later(question, 1)).choice == "approve"


def test_an_approval_holds_after_the_question_expired(store, question):
    store.decide(answered(put_question(store, question, nobody)))
    assert find_decision(store, later(question, 30)).choice == "approve"


def test_where_the_stored_question_says_pass_and_the_verdict_does_not_the_approval_is_refused(store, question):
    store.decide(answered(put_question(store, question, nobody)))
    with pytest.raises(Refused, match="says inconclusive; allowed: reject or rerun"):
        find_decision(store, with_outcome(question, "inconclusive"))


def test_a_question_that_was_stored_otherwise_is_put_again_as_computed(store, question):
    put_question(store, with_outcome(question, "inconclusive"), nobody)
    assert put_question(store, later(question, 1), nobody).verdict.outcome == "pass"


def test_the_approval_of_another_model_is_refused(store, question):
    store.decide(answered(put_question(store, question, nobody)))
    with pytest.raises(Refused, match=r"approved was verdict pass on model .* on model 000000000000"):
        find_decision(store, question.model_copy(update={"model_hash": "0" * 64}))


@pytest.mark.parametrize("choice", ["reject", "rerun"])
def test_to_stop_needs_no_more_than_to_have_been_said(store, question, choice):
    store.decide(answered(put_question(store, question, nobody), choice))
    assert find_decision(store, with_outcome(question, "inconclusive")).choice == choice


def test_the_same_question_is_put_once_while_it_is_open(store, question):
    put_question(store, question, nobody)
    assert put_question(store, later(question, 1), nobody).opened_at == NOW
    assert len(store.history("r")) == 1


def test_an_answer_that_came_in_time_is_recorded_although_the_question_expired_meanwhile(store, question):
    put_question(store, question, nobody)
    put = put_question(store, later(question, 30), lambda asked: store.decide(answered(asked, "reject")))
    assert put.opened_at == NOW
    assert find_decision(store, later(question, 30)).choice == "reject"


def test_where_nobody_answered_in_time_it_is_asked_again(store, question):
    put_question(store, question, nobody)
    assert put_question(store, later(question, 30), nobody).opened_at == NOW + timedelta(hours=30)


def test_evidence_that_grew_old_is_judged_again(make_result):
    result = make_result("r")
    again = judge(result.verdict.gate, result.verdict.evidence, NOW + timedelta(minutes=3))
    first = question_about(SIMULATION, result, result.verdict, NOW, PATIENCE)
    assert first.asks_the_same(question_about(SIMULATION, result, again, NOW + timedelta(minutes=3), PATIENCE))


def test_a_phase_that_looks_or_spends_once_offers_no_rerun(question):
    once = question.model_copy(update={"may_rerun": False})
    assert once.choices == ("approve", "reject")
    assert with_outcome(once, "inconclusive").choices == ("reject",)
