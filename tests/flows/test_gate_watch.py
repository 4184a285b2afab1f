from datetime import timedelta

import pytest

from flows.gate_watch import left_alone
from gaelp.gates.decisions import Question


@pytest.fixture
def question(passing_verdict):
    verdict = passing_verdict()
    at = verdict.judged_at
    return Question(
        run_id="r1",
        gate="simulation",
        attempt=1,
        verdict=verdict,
        model_hash="0" * 64,
        opened_at=at,
        remind_at=at + timedelta(hours=24),
        expires_at=at + timedelta(hours=72),
    )


def test_a_gate_that_was_just_opened_is_left_in_peace(question):
    assert left_alone([question], question.opened_at + timedelta(hours=23)) == []


def test_a_gate_left_alone_is_told_with_how_long_and_what_to_do(question):
    [(text, about)] = left_alone([question], question.opened_at + timedelta(hours=30))
    assert about == question
    assert "has waited 30.0 hours" in text
    assert "gaelp gate show r1" in text


def test_an_expired_gate_is_told_with_how_to_ask_again(question):
    [(text, _)] = left_alone([question], question.opened_at + timedelta(hours=72))
    assert "expired" in text
    assert "gaelp resume r1" in text
