"""What may be answered at a gate, and when."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaelp.errors import Refused
from gaelp.gates import judge, load_gate
from gaelp.gates.decisions import GateDecision, GateQuestion, check_choice, question_status


@pytest.fixture
def question(passing, now):
    gate = load_gate("simulation")
    verdict = judge(gate, passing(gate), now)
    return GateQuestion(
        run_id=verdict.evidence.run_id,
        gate=gate.name,
        attempt=1,
        verdict=verdict,
        model_hash="0" * 64,
        opened_at=now,
        remind_at=now + timedelta(hours=1),
        expires_at=now + timedelta(hours=3),
    )


def judged_as(question, outcome, **changes):
    verdict = question.verdict.model_copy(update={"outcome": outcome})
    return question.model_copy(update={"verdict": verdict, **changes})


@pytest.mark.parametrize(
    ("outcome", "may_rerun", "choices"),
    [
        ("pass", True, ("approve", "reject", "rerun")),
        ("pass", False, ("approve", "reject")),
        ("inconclusive", True, ("reject", "rerun")),
        ("inconclusive", False, ("reject",)),
    ],
)
def test_only_a_verdict_that_passed_can_be_approved_and_only_some_phases_are_repeated(
    question, outcome, may_rerun, choices
):
    asked = judged_as(question, outcome, may_rerun=may_rerun)
    assert asked.choices == choices
    for refused in {"approve", "reject", "rerun"} - set(choices):
        with pytest.raises(Refused, match=f"allowed: {' or '.join(choices)}"):
            check_choice(asked, refused, asked.opened_at)


def test_questions_ask_the_same_only_about_the_same_evidence_model_and_outcome(question):
    assert question.asks_the_same(question.model_copy(update={"attempt": 2, "looks": 5}))
    assert not question.asks_the_same(question.model_copy(update={"model_hash": "1" * 64}))
    assert not question.asks_the_same(judged_as(question, "inconclusive"))


def test_a_question_left_alone_is_overdue_and_then_expired(question):
    at = question.opened_at
    assert [question_status(question, at + timedelta(hours=hours)) for hours in (0, 1, 2.9, 3, 50)] == [
        "waiting",
        "overdue",
        "overdue",
        "expired",
        "expired",
    ]


@settings(max_examples=30, deadline=None)
@given(text=st.text(max_size=12))
def test_who_and_why_must_be_printable_text(answer, text):
    said = " ".join(text.split())
    if said and said.isprintable():
        assert GateDecision(**answer | {"why": text}).why == said
    else:
        with pytest.raises(ValueError):
            GateDecision(**answer | {"why": text})


@pytest.fixture(scope="module")
def answer():
    return {
        "run_id": "r",
        "gate": "simulation",
        "evidence_hash": "0" * 64,
        "choice": "reject",
        "who": "Ada",
        "decided_at": "2026-11-16T00:00:00Z",
        "through": "command",
    }
