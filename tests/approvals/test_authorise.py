from datetime import timedelta

import pytest

from gaelp.approvals import Approval, ApprovalRequest, Trust, action_hash, load_policy, require, state_of, unsigned
from gaelp.errors import BadInput, Refused

MINUTE, SECOND = timedelta(minutes=1), timedelta(seconds=1)


def asked(office, approvals, action=None, policy=None, trust=None, at=None, **extra):
    return require(
        action or office.action, approvals, policy or office.policy, trust or office.trust, at or office.now, **extra
    )


@pytest.fixture
def both(office):
    return [office.decided(name, office.action) for name in ("ann", "bob")]


def test_two_people_of_the_right_roles_authorise_exactly_this_action(office, both):
    granted = asked(office, both)
    assert (granted.approvers, granted.signed) == (("ann", "bob"), True)
    granted.check(office.action, office.now)
    with pytest.raises(Refused, match="have this one approved"):
        granted.check(office.action_with(limits_micros={"daily": 20_000_001}), office.now)
    with pytest.raises(Refused, match="approved again"):
        granted.check(office.action, office.now + timedelta(hours=8))


def test_an_approval_of_another_action_authorises_nothing(office, both):
    with pytest.raises(Refused, match="another action"):
        asked(office, both, action=office.action_with(model_hash="ac" * 32))


def test_a_quorum_is_of_different_people(office):
    twice = [office.decided("ann", office.action) for _ in range(3)]
    with pytest.raises(Refused, match="1 more of 2 approvers"):
        asked(office, twice)


def test_a_required_role_must_be_among_them(office):
    policy = office.policy_with(at_least={"finance": 2})
    approvals = [office.decided(name, office.action) for name in ("ann", "bob")]
    with pytest.raises(Refused, match="1 more with the role finance"):
        asked(office, approvals, policy=policy)


def test_who_has_none_of_the_roles_does_not_count(office):
    approvals = [office.decided(name, office.action) for name in ("ann", "aud")]
    with pytest.raises(Refused, match=r"aud: idle \(has the roles auditor"):
        asked(office, approvals)


def test_who_asks_does_not_approve_where_four_eyes_are_needed(office):
    approvals = [office.decided(name, office.action) for name in ("ann", "cyd")]
    with pytest.raises(Refused, match="four eyes"):
        asked(office, approvals)
    assert asked(office, approvals, policy=office.policy_with(four_eyes=False)).approvers == ("ann", "cyd")


def test_four_eyes_are_not_fooled_by_the_case_of_a_name(office):
    action = office.action_with(requester="Ann")
    with pytest.raises(Refused, match="four eyes"):
        asked(office, [office.decided(name, action) for name in ("ann", "bob")], action=action)


def test_one_rejection_ends_it_even_when_it_is_old(office, both):
    no = office.decided("cyd", office.action, decision="reject", reason="too dear", valid_for=MINUTE)
    with pytest.raises(Refused, match=r"cyd: rejects \(too dear\)"):
        asked(office, [*both, no], at=office.now + 5 * MINUTE)


def test_a_revoked_approver_cannot_veto_even_with_a_rejection_dated_before(office, both):
    no = office.decided("cyd", office.action, decision="reject", reason="too dear")
    trust = office.trust.without("cyd", office.now + MINUTE)
    assert asked(office, [*both, no], trust=trust, at=office.now + 5 * MINUTE).approvers == ("ann", "bob")
    with pytest.raises(Refused, match="cyd: rejects"):  # it did count before the key was revoked
        asked(office, [*both, no], trust=trust, at=office.now + MINUTE / 2)


def test_a_rejection_that_was_tampered_with_does_not_vanish(office, both):
    no = office.decided("cyd", office.action, decision="reject")
    spoiled = no.model_copy(update={"signature": "00" * 64})
    with pytest.raises(Refused, match="cannot be trusted"):
        asked(office, [*both, spoiled])


def test_an_approval_is_valid_until_it_expires_and_not_a_moment_longer(office, both):
    end = office.now + timedelta(hours=8)
    assert asked(office, both, at=end - timedelta(microseconds=1))
    with pytest.raises(Refused, match="it expired at"):
        asked(office, both, at=end)


def test_an_approval_from_the_future_is_refused_beyond_a_small_skew(office):
    ahead = [office.decided(name, office.action, at=office.now + 30 * SECOND) for name in ("ann", "bob")]
    assert asked(office, ahead)
    with pytest.raises(Refused, match="from the future"):
        asked(office, ahead, at=office.now - timedelta(microseconds=1))


def test_an_approval_cannot_be_valid_for_longer_than_the_policy_allows(office):
    long = [office.decided(name, office.action, valid_for=timedelta(days=1, seconds=1)) for name in ("ann", "bob")]
    with pytest.raises(Refused, match="allowed: 1 day"):
        asked(office, long)


def test_a_stranger_and_an_exchanged_name_are_refused(office, both):
    stranger = office.decided("mal", office.action)
    with pytest.raises(Refused, match="nobody of that name"):
        asked(office, [*both, stranger])
    said = stranger.statement.model_copy(update={"approver": "bob"})
    posed = Approval(statement=said, signature=office.key("mal").sign("approval", said.model_dump(mode="json")))
    with pytest.raises(Refused, match="does not match"):
        asked(office, [both[0], posed])


def test_a_revoked_key_is_refused_for_what_is_new_and_old_approvals_stay_verifiable(office, both):
    later = office.now + timedelta(hours=1)
    trust = office.trust.without("bob", later)
    with pytest.raises(Refused, match="has been revoked"):
        asked(office, both, trust=trust, at=later)
    new = office.decided("bob", office.action, at=later)
    with pytest.raises(Refused, match="not trusted when it was issued"):
        asked(office, [both[0], new], trust=trust, at=later)
    assert asked(office, both, trust=trust, at=office.now).approvers == ("ann", "bob")


def test_an_approval_signed_before_its_key_was_trusted_is_refused(office, both):
    early = office.decided("bob", office.action, at=office.now - timedelta(days=10), valid_for=timedelta(hours=1))
    with pytest.raises(Refused, match="not trusted when it was issued"):
        asked(office, [*both, early])


def test_a_used_nonce_is_refused(office, both):
    with pytest.raises(Refused, match="used before"):
        asked(office, both, used_nonces={both[0].statement.nonce})


def test_two_decisions_with_one_nonce_are_refused_and_the_same_one_twice_is_one(office, both):
    same = office.decided("bob", office.action, nonce=both[0].statement.nonce)
    with pytest.raises(Refused, match="same nonce"):
        asked(office, [both[0], same])
    assert asked(office, [*both, both[0]]).nonces == asked(office, both).nonces


def test_an_unsigned_approval_counts_only_in_a_sandbox(office):
    sandboxed = office.action_with(world="sandbox")
    policy = load_policy("sandbox")

    def named(action):
        return [unsigned(action, "cyd", decision="approve", reason="try", at=office.now, valid_for=timedelta(hours=1))]

    granted = asked(office, named(sandboxed), action=sandboxed, policy=policy, trust=Trust())
    assert not granted.signed
    with pytest.raises(Refused, match="real money"):
        asked(office, named(office.action), policy=policy)
    with pytest.raises(Refused, match="not signed"):
        asked(office, named(sandboxed), action=sandboxed, policy=load_policy("live"))


def test_a_sandbox_policy_never_decides_on_real_money_even_when_signed(office, both):
    with pytest.raises(Refused, match="real money"):
        asked(office, both, policy=load_policy("sandbox"))


def test_nothing_at_all_is_refused_with_what_is_needed(office):
    with pytest.raises(
        Refused, match=r"Seen: no approval\. Needed: 2 more of 2 approvers, 1 more with the role finance"
    ):
        asked(office, [])


def test_time_without_a_zone_is_refused(office, both):
    with pytest.raises(BadInput, match="no time zone"):
        asked(office, both, at=office.now.replace(tzinfo=None))


def test_a_reason_is_kept_in_one_form_and_must_be_given(office):
    assert office.decided("ann", office.action, reason=" e\u0301tude ").statement.reason == "étude"
    for reason in ("", "  ", "two\nlines", "hidden\u200bmark"):
        with pytest.raises(BadInput, match="reason"):
            office.decided("ann", office.action, reason=reason)
    with pytest.raises(BadInput, match="expires_at"):
        office.decided("ann", office.action, valid_for=timedelta(0))


# A request over time


def test_a_request_waits_then_escalates_then_expires(office):
    request = ApprovalRequest(action=office.action, requested_at=office.now)
    instants = [0, 239, 240, 2879, 2880, 9999]
    states = [state_of(request, [], office.policy, office.trust, office.now + n * MINUTE) for n in instants]
    assert states == ["waiting", "waiting", "escalate", "escalate", "expired", "expired"]


def test_a_request_is_approved_by_enough_and_rejected_by_one(office, both):
    request = ApprovalRequest(action=office.action, requested_at=office.now)

    def state(approvals, minutes=1):
        return state_of(request, approvals, office.policy, office.trust, office.now + minutes * MINUTE)

    no = office.decided("cyd", office.action, decision="reject")
    assert state(both[:1]) == "waiting"
    assert state(both) == "approved"
    assert state(both, 300) == "approved"
    assert state([*both, no]) == "rejected"
    assert state([no], 9999) == "rejected"
    assert state(both, 2880) == "expired"
    assert state(both, 481) == "escalate"  # the approvals expired before they were used
    assert state([*both, both[0].model_copy(update={"signature": "00" * 64})]) == "waiting"


def test_the_refusal_names_the_action_so_that_it_can_be_found(office):
    with pytest.raises(Refused, match=action_hash(office.action)[:12]):
        asked(office, [])
