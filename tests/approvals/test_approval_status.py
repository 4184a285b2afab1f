from datetime import timedelta

import pytest

from gaelp.approvals.approval_status import Circumstances, approval_status, is_authentic

HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("name", "changes", "later", "worth", "why"),
    [
        ("ann", {}, 0, "approves", "valid"),
        ("bob", {"decision": "reject", "reason": "too much"}, 100, "rejects", "too much"),
        ("ann", {}, 8, "idle", "it expired at"),
        ("cyd", {}, 0, "idle", "four eyes"),
        ("aud", {}, 0, "idle", "has the roles auditor; needed is one of finance, marketing"),
        ("mal", {}, 0, "void", "nobody of that name is trusted"),
        ("ann", {"valid_for": timedelta(days=2)}, 0, "void", "it would be valid for 2 days"),
    ],
)
def test_a_decision_is_worth_what_key_role_and_time_make_it(office, name, changes, later, worth, why):
    at = office.now + later * HOUR
    status = approval_status(
        office.decided(name, office.action, **changes), Circumstances(office.action, office.policy, office.trust, at)
    )
    assert (status.worth, why in status.why) == (worth, True), status


def test_a_decision_is_authentic_for_its_own_action_while_its_key_is_trusted(office):
    approval, later = office.decided("ann", office.action), office.now + HOUR
    assert is_authentic(approval, office.action, office.trust, later)
    assert not is_authentic(approval, office.action_with(attempt=2), office.trust, later)
    assert not is_authentic(approval, office.action, office.trust.without("ann", later), later)
