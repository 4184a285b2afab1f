"""Request, sign, consume: the last signature completes it, a late one is not lost, and nothing is signed in silence."""

import hashlib
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gaelp.approvals import ApprovalPolicy, ApprovalStore, Approver, SignedAction, SigningKey, Trust, action_hash
from gaelp.authority.signatures import Signer, describe_missing, next_open_attempt, require_signed, submit_decision
from gaelp.clock import ManualClock
from gaelp.errors import BadInput, Refused, WaitingForPerson

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
ACTION = SignedAction(kind="revive", run_id="kill-switch", requester="kill-switch", subject="stop-1")
POLICY = ApprovalPolicy(
    quorum=2, valid_minutes_max=1440, escalate_after_minutes=240, expire_after_minutes=2880, why="two people"
)


def key_of(name):
    return SigningKey(name, Ed25519PrivateKey.from_private_bytes(hashlib.sha256(name.encode()).digest()))


TRUST = Trust(
    approvers=tuple(
        Approver(name=name, public_key=key_of(name).public_key, roles=("finance",), added_at=NOW - timedelta(days=1))
        for name in ("ann", "bob", "cyd")
    )
)


@pytest.fixture
def store(tmp_path):
    return ApprovalStore(tmp_path / "approvals.db", ManualClock(NOW))


def signer(name, reason="seen"):
    return Signer(TRUST, key_of(name) if name else None, reason)


def signed(store, name, **more):
    return require_signed(store, ACTION, POLICY, signer(name), "Releasing it needs 2", **more)


def test_the_last_signature_needed_completes_it_and_says_before_what_is_missing(store):
    with pytest.raises(WaitingForPerson, match="needs 2") as waiting:
        signed(store, "ann")
    assert str(waiting.value) == (
        "The signature of ann is recorded, and more are needed. Releasing it needs 2. Signed by ann. Still needed: 1"
        " more of 2 approvers (bob or cyd can sign)"
    )
    assert signed(store, "bob").approvers == ("ann", "bob")


def test_without_a_key_it_only_says_how_things_are(store):
    with pytest.raises(WaitingForPerson, match=r"^Releasing it needs 2. Signed by nobody.*Nothing is stored yet$"):
        signed(store, None)
    assert store.requests() == ()
    with pytest.raises(WaitingForPerson):
        signed(store, "ann")
    with pytest.raises(WaitingForPerson, match=r"^Releasing it needs 2. Signed by ann"):
        signed(store, None)


def test_whoever_asks_others_to_sign_stores_the_request_alone(store):
    asks = Signer(TRUST, None, "", asks=True)
    with pytest.raises(WaitingForPerson, match=f"^Requested as {action_hash(ACTION)[:12]}. Releasing"):
        require_signed(store, ACTION, POLICY, asks, "Releasing it needs 2")
    assert (len(store.requests()), store.approvals(ACTION)) == (1, ())


def test_a_key_that_does_not_count_leaves_no_request(store):
    with pytest.raises(Refused, match="nobody of that name is trusted"):
        signed(store, "eve")
    with pytest.raises(BadInput, match="--reason is empty"):
        require_signed(store, ACTION, POLICY, signer("ann", reason=""), "Releasing it needs 2")
    assert store.requests() == ()


def test_whoever_signs_twice_reads_that_it_counts_once_and_what_is_missing(store):
    for _ in range(2):
        with pytest.raises(WaitingForPerson) as waiting:
            signed(store, "ann")
    assert str(waiting.value).startswith("ann has signed this already, which counts once: nothing new is recorded.")
    assert "Still needed: 1 more of 2 approvers (bob or cyd can sign)" in str(waiting.value)
    assert len(store.approvals(ACTION)) == 1


def test_a_signature_that_has_expired_is_given_again(store):
    with pytest.raises(WaitingForPerson):
        signed(store, "ann")
    store.clock.advance(timedelta(hours=9))
    with pytest.raises(WaitingForPerson, match=r"^The signature of ann is recorded"):
        signed(store, "ann")
    assert store.signed_by(ACTION) == ("ann",)


def test_whoever_comes_after_the_last_signer_gets_the_same_answer(store):
    with pytest.raises(WaitingForPerson):
        signed(store, "ann")
    assert signed(store, "bob") == signed(store, "cyd")


def test_a_signer_who_is_overtaken_between_the_look_and_the_signature_gets_the_same_answer(store, monkeypatch):
    with pytest.raises(WaitingForPerson):
        signed(store, "ann")
    real, granted = store.submit, []

    def overtaken(*given):
        if not granted:
            granted.append(None)
            granted[0] = signed(store, "bob")
        return real(*given)

    monkeypatch.setattr(store, "submit", overtaken)
    assert [signed(store, "cyd")] == granted


def test_used_for_something_else_it_is_no_answer(store):
    with pytest.raises(WaitingForPerson):
        signed(store, "ann", used_for="books a: ")
    signed(store, "bob", used_for="books a: ")
    with pytest.raises(Refused, match="once and for good"):
        signed(store, "bob", used_for="books b: ")


@pytest.mark.parametrize("one", [signer(None), signer("ann", reason="")])
def test_nothing_is_decided_without_a_key_and_a_reason(store, one):
    store.request(ACTION)
    with pytest.raises(BadInput, match=r"no key|--reason is empty"):
        submit_decision(store, ACTION, POLICY, one)


def test_a_decision_is_valid_no_longer_than_the_policy_allows(store):
    store.request(ACTION)
    submit_decision(store, ACTION, POLICY, signer("ann"), valid_for=timedelta(days=9))
    [approval] = store.approvals(ACTION)
    assert approval.statement.expires_at == NOW + timedelta(minutes=1440)


def test_what_was_rejected_or_has_expired_is_asked_again_under_the_next_number(store):
    first = next_open_attempt(store, ACTION, POLICY, TRUST, (), used_for="")
    assert store.requests() == ()
    store.request(first)
    assert submit_decision(store, first, POLICY, signer("ann"), "reject") == "rejected"
    second = next_open_attempt(store, ACTION, POLICY, TRUST, (), used_for="")
    store.request(second)
    store.clock.advance(timedelta(days=3))
    third = next_open_attempt(store, ACTION, POLICY, TRUST, (), used_for="")
    assert [action.attempt for action in (first, second, third)] == [1, 2, 3]
    assert next_open_attempt(store, ACTION, POLICY, TRUST, {action_hash(third)}, used_for="").attempt == 4


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({"at_least": {"auditor": 1}}, "1 more with the role auditor (nobody who is trusted can: "),
        ({"at_least": {"finance": 2}}, "1 more with the role finance (bob or cyd can sign)"),
        ({"roles": ("legal", "finance")}, "1 more of 2 approvers (bob or cyd can sign)"),
        ({"quorum": 4}, "3 more of 4 approvers (bob or cyd can sign)"),
    ],
)
def test_those_who_can_give_what_is_missing_are_named(store, policy, expected):
    store.request(ACTION)
    policy = POLICY.model_copy(update=policy)
    submit_decision(store, ACTION, policy, signer("ann"))
    assert expected in describe_missing(store.tally(ACTION, policy, TRUST))


def test_a_decision_of_somebody_unknown_here_is_not_reported_as_a_missing_signature(store):
    store.request(ACTION)
    for name in ("ann", "bob", "cyd"):
        submit_decision(store, ACTION, POLICY, signer(name))
    here = Trust(approvers=TRUST.approvers[:2])
    text = describe_missing(store.tally(ACTION, POLICY, here))
    assert "cyd (nobody of that name is trusted)" in text
    assert text.endswith("A decision that cannot be trusted stops everything: run `gaelp audit verify`")
