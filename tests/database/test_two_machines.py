"""Two machines, two homes, one PostgreSQL: what decides about money is the same on both."""

from datetime import UTC, datetime, timedelta

import pytest

from gaelp.approvals import (
    ApprovalStore,
    SignedAction,
    approvals_place,
    load_policy,
    load_trust,
    new_key,
    sign,
    trusted_approvers,
)
from gaelp.approvals.keys import PublicKeyFile
from gaelp.approvals.trust import trust_place
from gaelp.authority.trust_changes import revoke_key, trust_key
from gaelp.bootstrap import violations
from gaelp.budget.violations import Resolution, Violation
from gaelp.clock import ManualClock, SystemClock
from gaelp.config import load_settings
from gaelp.content import ContentFinding, ContentVerdict, ReviewQueue, creative_hash
from gaelp.content.creative import Audience, Creative
from gaelp.content.review_queue import reviews_place
from gaelp.content.verdict import case_of
from gaelp.database import DatabaseUnavailable
from gaelp.errors import Refused
from gaelp.gates import judge, load_gate
from gaelp.gates.decisions import GateDecision, GateQuestion
from gaelp.observability.alert import Alert
from gaelp.observability.alert_channels import CallableChannel
from gaelp.observability.alert_routes import open_dispatcher
from gaelp.observability.alert_table import TableMemory
from gaelp.phases.gate_approval import gate_approvals

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


@pytest.fixture
def machines(tmp_path, databases, monkeypatch):
    """The settings of two homes with the books in one PostgreSQL."""
    monkeypatch.setenv("GAELP__BUDGET__DATABASE_URL", databases.fresh_place("postgres"))
    return [load_settings(None, overrides=[f"home={tmp_path / name}"]).settings for name in ("first", "second")]


def test_a_violation_on_one_machine_is_seen_and_resolved_on_the_other(machines):
    first, second = map(violations, machines)
    added = first.add(Violation(severity="critical", scope="acc", rule="overspend", what="too much", at=NOW))
    assert second.list(open_only=True) == (added,)
    second.resolve(added.id, Resolution(text="set back", by="ann", at=NOW))
    assert first.list(open_only=True) == ()


def test_a_gate_decided_on_one_machine_is_decided_on_the_other(machines, gate_evidence):
    first, second = (gate_approvals(settings).decisions() for settings in machines)
    gate = load_gate("simulation")
    verdict = judge(gate, gate_evidence.passing(gate), NOW)
    question = first.ask(
        GateQuestion(
            run_id=verdict.evidence.run_id,
            gate=gate.name,
            attempt=1,
            verdict=verdict,
            model_hash="0" * 64,
            opened_at=NOW,
            remind_at=NOW + timedelta(hours=1),
            expires_at=NOW + timedelta(hours=3),
        )
    )
    assert second.open_questions() == [question]
    second.decide(
        GateDecision(
            run_id=question.run_id,
            gate=question.gate,
            evidence_hash=question.evidence_hash,
            choice="reject",
            who="ann",
            why="not now",
            decided_at=NOW + timedelta(minutes=1),
            through="command",
        )
    )
    assert first.decision(question).choice == "reject"


def test_people_are_told_once_by_both_machines_and_answer_on_either(machines):
    heard = []
    channel = CallableChannel("ear", heard.append)
    first, second = (open_dispatcher(settings, ManualClock(NOW), more=[channel]) for settings in machines)
    alert = Alert(severity="critical", source="test", key="cap", title="a cap is reached", at=NOW)
    first.send(alert)
    second.send(alert)
    assert [one.key for one in heard] == ["cap"]
    assert [waiting.alert.key for waiting in second.pending] == ["cap"]
    second.acknowledge("test", "cap")
    assert first.pending == ()


def test_alerts_go_out_while_the_database_is_away(tmp_path, monkeypatch):
    monkeypatch.setenv("GAELP__BUDGET__DATABASE_URL", "postgresql://me:hunter2@127.0.0.1:1/none")
    settings = load_settings(None, overrides=[f"home={tmp_path}"]).settings
    heard = []
    dispatcher = open_dispatcher(settings, ManualClock(NOW), more=[CallableChannel("ear", heard.append)])
    for _ in range(2):
        dispatcher.send(Alert(severity="warning", source="test", key="cap", title="a cap is reached", at=NOW))
    assert [one.key for one in heard] == ["cap"]  # this process remembers


def test_what_a_process_remembers_while_the_database_is_away_is_added_to_what_others_stored(machines, monkeypatch):
    first, second = (open_dispatcher(settings, ManualClock(NOW)) for settings in machines)
    first.send(Alert(severity="critical", source="test", key="before", title="stored", at=NOW))
    with monkeypatch.context() as patch:
        reads = iter([DatabaseUnavailable("away")])
        patch.setattr(TableMemory, "_read", lambda _self: (_ for _ in ()).throw(next(reads)))
        second.send(Alert(severity="critical", source="test", key="meanwhile", title="kept here", at=NOW))
    second.send(Alert(severity="info", source="test", key="after", title="the database is back", at=NOW))
    assert {waiting.alert.key for waiting in first.pending} == {"before", "meanwhile"}


def test_a_creative_reviewed_on_one_machine_is_reviewed_on_the_other(machines):
    first, second = (ReviewQueue(reviews_place(settings), ManualClock(NOW)) for settings in machines)
    creative = Creative(
        id="bread-1",
        advertiser="demo-shop",
        headline="Clinically Proven Bread",
        description="Baked before sunrise and sold until noon. Order online and collect.",
        call_to_action="Order now",
        display_url="www.shop.example",
        landing_url="https://www.shop.example/bread",
        landing_text="Our bread is baked every morning before sunrise. Order fresh bread online and collect it.",
        language="en-GB",
        audience=Audience(min_age=18),
    )
    found = (ContentFinding(rule="claim", category="claims", severity="review", why="needs a study"),)
    named = creative_hash(creative)
    verdict = ContentVerdict(
        creative_id=creative.id,
        creative_hash=named,
        policy_hash="0" * 64,
        outcome="review",
        findings=found,
        profanity=None,
        quality=None,
        case=case_of(named, found),
    )
    first.add(creative, verdict)
    second.decide(verdict.case, "reject", who="ann", why="no study")
    assert first.settle(verdict).outcome == "block"


def test_a_key_revoked_on_one_machine_counts_on_neither(machines):
    keys = {"ann": new_key("ann"), "bob": new_key("bob")}
    places = [trust_place(settings) for settings in machines]
    for settings, place in zip(machines, places, strict=True):
        trust_key(settings, place, PublicKeyFile.of(keys["ann"]), ("finance",))
        trust_key(settings, place, PublicKeyFile.of(keys["bob"]), ("marketing",))
    action = SignedAction(kind="revive", run_id="kill-switch", requester="kill-switch", subject="stop 1")
    policy, clock = load_policy("live"), SystemClock()
    first, second = (ApprovalStore(approvals_place(settings), clock) for settings in machines)
    first.request(action)
    for key in keys.values():
        signed = {"decision": "approve", "reason": "seen", "at": clock.now(), "valid_for": timedelta(hours=1)}
        second.submit(sign(action, key, **signed), policy, load_trust(places[1]))
    revoke_key(machines[0], places[0], "ann")
    assert load_trust(places[1]).has_key_in_force("ann")  # the file of the second machine does not know it
    assert not trusted_approvers(machines[1]).has_key_in_force("ann")
    with pytest.raises(Refused, match="its key has been revoked"):
        second.consume(action, policy, load_trust(places[1]), consumer="revive")
    with pytest.raises(Refused, match="revoked already"):
        trust_key(machines[1], places[1], PublicKeyFile.of(keys["ann"]), ("finance",))
    trust_key(machines[1], places[1], PublicKeyFile.of(new_key("ann")), ("finance",))
    assert trusted_approvers(machines[1]).has_key_in_force("ann")


def test_nobody_is_trusted_while_the_database_with_the_revocations_is_away(tmp_path, monkeypatch):
    monkeypatch.setenv("GAELP__BUDGET__DATABASE_URL", "postgresql://me:hunter2@127.0.0.1:1/none")
    with pytest.raises(DatabaseUnavailable):
        trusted_approvers(load_settings(None, overrides=[f"home={tmp_path}"]).settings)
