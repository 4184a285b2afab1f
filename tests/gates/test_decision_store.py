"""Questions and decisions at the gates, on SQLite and on PostgreSQL."""

from contextlib import closing
from datetime import timedelta

import pytest
from sqlalchemy import text as sql

from gaelp.database import DatabaseBroken, open_database
from gaelp.errors import GaelpError, Refused
from gaelp.gates import judge, load_gate
from gaelp.gates.decision_store import STORE, DecisionStore
from gaelp.gates.decisions import GateDecision, GateQuestion


@pytest.fixture
def gate():
    return load_gate("simulation")


@pytest.fixture
def verdict(gate, passing, now):
    judged = judge(gate, passing(gate), now)
    assert judged.outcome == "pass"
    return judged


@pytest.fixture
def question(verdict, now):
    return asked(verdict, now)


@pytest.fixture
def store(place):
    return DecisionStore(place)


def asked(verdict, at, **changes):
    values = {
        "run_id": verdict.evidence.run_id,
        "gate": verdict.gate.name,
        "attempt": 1,
        "verdict": verdict,
        "model_hash": "0" * 64,
        "opened_at": at,
        "remind_at": at + timedelta(hours=1),
        "expires_at": at + timedelta(hours=3),
    }
    return GateQuestion(**values | changes)


def answer(question, choice="approve", minutes=1, **changes):
    values = {
        "run_id": question.run_id,
        "gate": question.gate,
        "evidence_hash": question.evidence_hash,
        "choice": choice,
        "who": "Ada",
        "why": "every rule holds",
        "decided_at": question.opened_at + timedelta(minutes=minutes),
        "through": "command",
    }
    return GateDecision(**values | changes)


def test_an_answer_is_found_again_with_who_when_and_why(store, question):
    store.ask(question)
    store.decide(answer(question))
    recorded = store.decision(question)
    assert (recorded.choice, recorded.who, recorded.why) == ("approve", "Ada", "every rule holds")
    assert store.open_questions() == []


def test_nobody_has_answered_until_someone_has(store, question):
    store.ask(question)
    assert store.decision(question) is None
    assert store.open_questions() == [question]


def test_the_same_answer_again_changes_nothing_and_another_is_refused(store, question):
    store.ask(question)
    first = store.decide(answer(question))
    assert store.decide(answer(question, minutes=5, who="Grace")) == first
    with pytest.raises(Refused, match="was decided by Ada"):
        store.decide(answer(question, "reject"))


def test_an_approval_of_another_verdict_does_not_count(store, question):
    store.ask(question)
    with pytest.raises(Refused, match="no gate"):
        store.decide(answer(question, evidence_hash="0" * 64))
    assert store.decision(question) is None


def test_an_approval_given_to_another_run_does_not_count(store, question):
    store.ask(question)
    with pytest.raises(Refused, match="no gate"):
        store.decide(answer(question, run_id="other"))
    other = question.model_copy(update={"run_id": "other"})
    store.decide(answer(question))
    assert store.decision(other) is None


def test_an_old_approval_is_not_one_of_a_later_verdict(store, gate, passing, now, question):
    store.ask(question)
    store.decide(answer(question))
    later = judge(gate, passing(gate, measured_at=now + timedelta(hours=1)), now + timedelta(hours=1))
    again = store.ask(asked(later, now + timedelta(hours=1), attempt=2))
    assert store.decision(again) is None


@pytest.mark.parametrize("minutes", [180, 10_000])
def test_an_answer_that_comes_too_late_is_refused(store, question, minutes):
    store.ask(question)
    with pytest.raises(Refused, match="expired"):
        store.decide(answer(question, minutes=minutes))


def test_an_answer_from_before_the_question_is_refused(store, question):
    store.ask(question)
    with pytest.raises(Refused, match="look at the verdict, then decide"):
        store.decide(answer(question, minutes=-1))


def test_an_expired_question_is_asked_again_and_can_then_be_answered(store, verdict, question):
    store.ask(question)
    again = store.ask(asked(verdict, question.expires_at))
    assert again.opened_at == question.expires_at
    store.decide(answer(again))
    assert store.decision(again).choice == "approve"
    assert [one.opened_at for one, _ in store.history(question.run_id)] == [question.opened_at, again.opened_at]


def test_an_open_question_is_not_prolonged_by_asking_it_again(store, verdict, question):
    store.ask(question)
    again = store.ask(asked(verdict, question.opened_at + timedelta(hours=2)))
    assert again == question


def test_a_question_that_was_withdrawn_cannot_be_answered_until_it_is_asked_again(store, verdict, question):
    store.ask(question)
    store.withdraw(question.run_id, question.opened_at + timedelta(minutes=1))
    with pytest.raises(Refused, match="expired"):
        store.decide(answer(question, minutes=2))
    again = store.ask(asked(verdict, question.opened_at + timedelta(minutes=3)))
    assert store.decide(answer(again)).choice == "approve"


@pytest.mark.parametrize("outcome", ["fail", "inconclusive"])
def test_a_verdict_that_did_not_pass_cannot_be_approved(store, question, outcome):
    doubtful = question.model_copy(update={"verdict": question.verdict.model_copy(update={"outcome": outcome})})
    store.ask(doubtful)
    with pytest.raises(Refused, match="Only a verdict that passed can be approved"):
        store.decide(answer(doubtful))
    assert store.decide(answer(doubtful, "rerun")).choice == "rerun"


def test_signatures_are_asked_for_when_deciding_and_when_reading(place, question):
    def signed(_question, decision):
        if not decision.signatures:
            raise Refused("this gate takes signed approvals only")

    strict = DecisionStore(place, authorise=signed)
    strict.ask(question)
    with pytest.raises(Refused, match="signed approvals only"):
        strict.decide(answer(question))
    DecisionStore(place).decide(answer(question))  # slipped in where nothing was asked for
    with pytest.raises(Refused, match="signed approvals only"):
        strict.decision(question)


@pytest.mark.parametrize("statement", ["UPDATE gate_decision SET choice = 'approve'", "DELETE FROM gate_decision"])
def test_a_decision_cannot_be_changed_or_deleted(place, store, question, statement):
    store.ask(question)
    store.decide(answer(question, "reject"))
    refused = pytest.raises(DatabaseBroken, match="append-only")
    with closing(open_database(place, STORE)) as database, refused, database.writing() as connection:
        connection.execute(sql(statement))
    assert store.decision(question).choice == "reject"


def test_a_decision_that_answers_no_question_is_an_altered_record(place, store, question):
    store.ask(question)
    planted = answer(question, minutes=-60)
    values = planted.model_dump(include={"run_id", "gate", "evidence_hash", "choice"})
    with closing(open_database(place, STORE)) as database, database.writing() as connection:
        row = sql("INSERT INTO gate_decision VALUES (:run_id, :gate, :evidence_hash, :choice, :body)")
        connection.execute(row, {**values, "body": planted.model_dump_json()})
    with pytest.raises(Refused, match="altered"):
        store.decision(question)


def test_a_record_that_cannot_be_read_decides_nothing(tmp_path, question):
    (tmp_path / "decisions.db").write_bytes(b"this is no database" * 100)
    with pytest.raises(GaelpError, match=r"is damaged .*nothing was decided"):
        DecisionStore(tmp_path / "decisions.db").decision(question)
