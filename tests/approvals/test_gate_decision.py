from datetime import timedelta

import pytest

from gaelp.approvals import approve_gate, gate_action, sign
from gaelp.errors import DataError, Refused
from gaelp.gates import Evidence, judge, load_gate

PASSING = {
    "reward": 0.9,
    "success_rate": 0.99,
    "lead_over_constant": 0.2,
    "lead_over_best_rule": 0.05,
    "worst_group_lead": 0.01,
    "ruined_share": 0.0,
    "shifted_lead_over_best_rule": 0.04,
    "shifted_ruined_share": 0.0,
    "episodes": 5000.0,
    "checked_rows": 5000.0,
    "failed_expectations": 0.0,
    "budget_breaches": 0.0,
}


def verdict_on(office, **changes):
    gate = load_gate("simulation")
    metrics = {**PASSING, **changes}
    metrics |= {rule.figure: metrics[rule.metric] for rule in gate.criteria}
    evidence = Evidence(
        run_id="run-1", agent="ppo", learned=True, config_hash="c0ffee", measured_at=office.now, metrics=metrics
    )
    return judge(gate, evidence, office.now)


def decide(office, verdict, judged=None, **changes):
    """Have two people approve the action of one verdict, and use it for another."""
    action = gate_action(judged or verdict, model_hash="ab" * 32, requester="cyd", attempt=1).model_copy(update=changes)
    terms = {"decision": "approve", "reason": "seen", "at": office.now, "valid_for": timedelta(hours=1)}
    approvals = [sign(action, office.key(name), **terms) for name in ("ann", "bob")]
    return approve_gate(verdict, action, approvals, office.policy, office.trust, office.now)


def test_a_pass_that_two_people_approved_opens_the_gate(office):
    assert decide(office, verdict_on(office)).approvers == ("ann", "bob")


def test_no_approval_replaces_a_pass(office):
    for changes, outcome in (({"reward": 0.1}, "fail"), ({"episodes": 3.0}, "inconclusive")):
        with pytest.raises(Refused, match=f"says {outcome}"):
            decide(office, verdict_on(office, **changes))


def test_a_verdict_that_was_changed_after_judging_opens_nothing(office):
    failed = verdict_on(office, reward=0.1)
    with pytest.raises(DataError, match="changed after it was judged"):
        decide(office, failed.model_copy(update={"outcome": "pass"}))


def test_an_approval_of_other_evidence_opens_nothing(office):
    with pytest.raises(Refused, match="what was judged"):
        decide(office, verdict_on(office), judged=verdict_on(office, reward=0.91))


@pytest.mark.parametrize("changes", [{"gate": "pilot"}, {"run_id": "run-2"}, {"kind": "release"}])
def test_an_action_about_something_else_opens_nothing(office, changes):
    with pytest.raises(Refused, match="what was judged"):
        decide(office, verdict_on(office), **changes)
