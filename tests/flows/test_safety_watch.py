"""The safety watch as Prefect has it, without a server: its events and its failed runs."""

from datetime import UTC, datetime, timedelta

import pytest
from prefect.events.schemas.events import Event, Resource
from prefect.logging import disable_run_logger

from flows import safety_watch as module
from flows.safety_watch import prefect_events, safety_watch
from gaelp.config import load_settings
from gaelp.errors import GaelpError
from gaelp.gates.decisions import GateQuestion
from gaelp.observability.alerts import Alert
from gaelp.phases.gate_approval import gate_approvals

ALERT = Alert(
    severity="critical",
    source="guarded",
    key="not-reconciled/acc",
    title="The books are behind",
    at=datetime(2026, 11, 16, 12, tzinfo=UTC),
    context={"campaign": "c1"},
)


@pytest.fixture
def emitted(monkeypatch):
    """What would have gone to the server, as Prefect itself understands it."""
    events = []

    def emit(event, resource, payload):
        events.append(
            Event(event=event, resource=Resource.model_validate(resource), payload=payload, occurred=datetime.now(UTC))
        )

    monkeypatch.setattr(module, "emit_event", emit)
    return events


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("GAELP_HOME", str(tmp_path))
    return tmp_path


def run(**parameters):
    with disable_run_logger():
        return safety_watch.fn(**parameters)


def test_an_alert_becomes_an_event_that_an_automation_can_tell_apart(emitted):
    prefect_events().send(ALERT)
    [event] = emitted
    assert event.event == "gaelp.alert.critical"
    assert event.resource.id == "gaelp.alert.guarded.not-reconciled/acc"
    assert Alert.model_validate(event.payload) == ALERT


def test_a_gate_left_alone_is_an_event_once_and_stands_in_the_result(home, emitted, passing_verdict):
    at = datetime.now(UTC) - timedelta(hours=30)
    times = {"opened_at": at, "remind_at": at + timedelta(hours=24), "expires_at": at + timedelta(hours=72)}
    verdict = passing_verdict()
    question = GateQuestion(run_id="r1", gate="simulation", attempt=1, verdict=verdict, model_hash="0" * 64, **times)
    gate_approvals(load_settings("quick-test").settings).decisions().ask(question)
    for _ in range(2):
        assert "gaelp gate show r1" in run()["gates"][0]
    assert [event.event for event in emitted] == ["gaelp.alert.warning"]
    assert "gaelp gate show r1" in emitted[0].payload["body"]


def test_a_part_that_cannot_be_done_turns_the_run_red_after_people_were_told(home, emitted):
    (home / "decisions.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(GaelpError, match="'gates' of the safety watch failed"):
        run()
    assert [event.event for event in emitted] == ["gaelp.alert.critical"]


@pytest.mark.usefixtures("home")
def test_what_is_set_for_the_pipeline_holds_for_its_watch(emitted):
    with pytest.raises(GaelpError, match="there is no platform 'nowhere'"):
        run(overrides=["platform.name=nowhere", "platform.account=acc"])
    assert emitted[0].payload["key"] == "part/reconciliation"
