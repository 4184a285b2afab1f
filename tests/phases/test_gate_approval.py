from datetime import UTC, datetime, timedelta

import pytest

from gaelp.approvals import ApprovalPolicy, Approver, Trust, load_policy, new_key, sign
from gaelp.clock import ManualClock
from gaelp.config import load_settings
from gaelp.errors import Refused
from gaelp.gates import Evidence, judge, load_gate
from gaelp.gates.decisions import GateDecision, GateQuestion
from gaelp.phases.gate_approval import GateApprovals, gate_approvals

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


@pytest.fixture
def question():
    gate = load_gate("simulation")
    metrics = {"episodes": 1000.0, "checked_rows": 1000.0}
    for rule in gate.criteria:
        room = 0.0 if rule.threshold == 0 else -0.005 if rule.bound == "at_most" else 0.005
        metrics |= {rule.metric: rule.threshold + room, rule.figure: rule.threshold + room}
    evidence = Evidence(run_id="r", agent="a", learned=True, config_hash="c", measured_at=NOW, metrics=metrics)
    times = {"opened_at": NOW, "remind_at": NOW + timedelta(hours=1), "expires_at": NOW + timedelta(hours=9)}
    verdict = judge(gate, evidence, NOW)
    return GateQuestion(run_id="r", gate=gate.name, attempt=1, verdict=verdict, model_hash="0" * 64, **times)


@pytest.fixture
def keys():
    return {name: new_key(name) for name in ("ann", "bob", "eve")}


@pytest.fixture
def clock():
    return ManualClock(NOW + timedelta(minutes=5))


@pytest.fixture
def live(tmp_path, keys):
    """Two have to sign, one of them from finance; eve is not trusted."""
    roles = {"ann": ("finance",), "bob": ("marketing",)}
    approvers = tuple(
        Approver(name=name, public_key=keys[name].public_key, roles=roles[name], added_at=NOW - timedelta(days=1))
        for name in roles
    )
    return GateApprovals(
        tmp_path / "approvals.db", tmp_path / "decisions.db", load_policy("live"), lambda: Trust(approvers=approvers)
    )


def decided(question, clock, choice="approve", signatures=()):
    return GateDecision(
        run_id=question.run_id,
        gate=question.gate,
        evidence_hash=question.evidence_hash,
        choice=choice,
        who="ann",
        why="every rule holds",
        decided_at=clock.now(),
        through="command",
        signatures=signatures,
    )


def test_where_money_can_move_a_name_alone_is_refused(live, question, clock):
    store = live.decisions()
    store.ask(question)
    with pytest.raises(Refused, match="takes signed approvals only"):
        store.decide(decided(question, clock))


def test_to_reject_needs_no_signature(live, question, clock):
    store = live.decisions()
    store.ask(question)
    assert store.decide(decided(question, clock, "reject")).choice == "reject"


def test_two_signatures_let_the_run_through_and_one_does_not(live, question, clock, keys):
    store = live.decisions()
    store.ask(question)
    assert live.add_signature(question, keys["ann"], "approve", "every rule holds", clock) == ()
    both = live.add_signature(question, keys["bob"], "approve", "as ann says", clock)
    assert len(both) == 2
    store.decide(decided(question, clock, signatures=both))
    assert store.decision(question).choice == "approve"
    with pytest.raises(Refused, match="more"):
        live.authorise(question, decided(question, clock, signatures=both[:1]))


def test_a_stranger_cannot_sign(live, question, clock, keys):
    with pytest.raises(Refused, match="eve"):
        live.add_signature(question, keys["eve"], "approve", "let me", clock)


def test_signatures_of_another_question_do_not_count(live, question, clock, keys):
    other = question.model_copy(update={"model_hash": "1" * 64})
    live.add_signature(other, keys["ann"], "approve", "every rule holds", clock)
    both = live.add_signature(other, keys["bob"], "approve", "every rule holds", clock)
    with pytest.raises(Refused):
        live.authorise(question, decided(question, clock, signatures=both))


def test_a_signed_rejection_is_one_at_once(live, question, clock, keys):
    assert len(live.add_signature(question, keys["bob"], "reject", "the market moved", clock)) == 1


def test_in_the_sandbox_a_name_is_enough_and_production_is_no_sandbox(tmp_path, question, clock):
    home = f"home={tmp_path}"
    store = gate_approvals(load_settings("quick-test", overrides=[home]).settings).decisions()
    store.ask(question)
    assert store.decide(decided(question, clock)).signatures == ()
    production = gate_approvals(load_settings("production", overrides=[home]).settings)
    assert isinstance(production.policy, ApprovalPolicy)
    assert not production.policy.sandbox
    with pytest.raises(Refused):
        production.decisions().decision(question)


def test_nobody_is_not_enough_where_money_can_move(live):
    with pytest.raises(Refused, match="approval auto is for the sandbox"):
        live.check_automatic()


def test_a_signature_made_by_hand_counts_only_for_the_action_at_the_gate(live, question, clock, keys):
    from gaelp.approvals import gate_action  # noqa: PLC0415 - only here

    action = gate_action(question.verdict, model_hash="2" * 64, requester="pipeline", attempt=1)
    forged = tuple(
        sign(
            action, keys[name], decision="approve", reason="x", at=clock.now(), valid_for=timedelta(hours=1)
        ).model_dump_json()
        for name in ("ann", "bob")
    )
    with pytest.raises(Refused):
        live.authorise(question, decided(question, clock, signatures=forged))
