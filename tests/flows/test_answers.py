"""Answers are found by the question they answer, however often the flow was started since."""

import json
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from prefect.client.schemas.objects import FlowRunInput

import flows.answers
from flows.answers import answers_to, pause_key
from gaelp.gates.decisions import GateQuestion

AT = datetime(2026, 11, 16, 12, tzinfo=UTC)
FLOW_RUN = "06605f57-5380-4ae8-a8fc-eba49ff493ee"


class Server:
    """What the server keeps of one flow run."""

    def __init__(self):
        self.inputs, self.fired = [], set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def filter_flow_run_input(self, flow_run_id, *, key_prefix, limit, exclude_keys):
        return [given for given in self.inputs if given.key.startswith(key_prefix)]

    def read_flow_run(self, flow_run_id):
        return SimpleNamespace(empirical_policy=SimpleNamespace(pause_keys=self.fired))

    def suspend(self, key, *, form=True):
        self.fired.add(key)
        if form:
            self._keep(f"suspended-{key}-schema", {}, AT)
            self._keep(f"suspended-{key}-description", {}, AT)

    def answer(self, key, minutes, **fields):
        self._keep(f"suspended-{key}-response", fields, AT + timedelta(minutes=minutes))

    def _keep(self, key, value, at):
        self.inputs.append(FlowRunInput(flow_run_id=FLOW_RUN, key=key, value=json.dumps(value), created=at))


@pytest.fixture
def server(monkeypatch):
    made = Server()
    monkeypatch.setattr(flows.answers, "get_client", lambda **_: made)
    return made


@pytest.fixture
def question(passing_verdict):
    times = {"opened_at": AT, "remind_at": AT + timedelta(hours=1), "expires_at": AT + timedelta(hours=2)}
    verdict = passing_verdict()
    return GateQuestion(run_id="r", gate=verdict.gate.name, attempt=1, verdict=verdict, model_hash="0" * 64, **times)


def test_every_accepted_answer_is_found_oldest_first_with_its_time(server, question):
    first = pause_key(FLOW_RUN, question)
    server.suspend(first)
    second = pause_key(FLOW_RUN, question)
    server.suspend(second)
    server.answer(second, 2, decision="reject")
    server.answer(first, 1, decision="approve")
    assert [(answer.fields["decision"], answer.accepted_at.minute) for answer in answers_to(FLOW_RUN, question)] == [
        ("approve", 1),
        ("reject", 2),
    ]


def test_a_question_that_was_asked_again_after_it_expired_has_answers_of_its_own(server, question):
    key = pause_key(FLOW_RUN, question)
    server.suspend(key)
    server.answer(key, 1, decision="approve")
    again = question.model_copy(update={"opened_at": AT + timedelta(days=3)})
    assert answers_to(FLOW_RUN, again) == []
    assert pause_key(FLOW_RUN, again) != key


@pytest.mark.parametrize("form", [True, False])
def test_no_key_is_used_twice_even_if_the_process_died_before_its_form_was_stored(server, question, form):
    keys = []
    for _ in range(3):
        keys.append(pause_key(FLOW_RUN, question))
        server.suspend(keys[-1], form=form)
    assert len(set(keys)) == 3


def test_no_key_is_used_twice_although_the_server_forgot_which_pauses_fired(server, question):
    key = pause_key(FLOW_RUN, question)
    server.suspend(key)
    server.fired.clear()  # as it does when a flow run is retried
    assert pause_key(FLOW_RUN, question) != key


def test_the_server_takes_the_key(server, question):
    server.suspend(pause_key(FLOW_RUN, question))  # FlowRunInput refuses other characters
    assert len(server.inputs) == 2
