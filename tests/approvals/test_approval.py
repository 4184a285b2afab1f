from datetime import timedelta

import pytest

from gaelp.approvals import sign, unsigned
from gaelp.approvals.approval import new_nonce
from gaelp.errors import BadInput

HOUR = timedelta(hours=1)


def test_a_decision_names_the_owner_of_the_key_and_differs_from_every_other(office):
    terms = {"decision": "approve", "reason": "  seen ", "at": office.now, "valid_for": HOUR}
    first, second = (sign(office.action, office.key("ann"), **terms) for _ in range(2))
    assert (first.statement.approver, first.statement.reason) == ("ann", "seen")
    assert first.statement.expires_at - first.statement.issued_at == HOUR
    assert first.statement.nonce != second.statement.nonce
    assert unsigned(office.action, "ann", **terms).signature is None


@pytest.mark.parametrize("wrong", [{"reason": " "}, {"valid_for": -HOUR}, {"reason": "two\nlines"}])
def test_a_decision_that_cannot_be_written_is_refused_with_the_field(office, wrong):
    terms = {"decision": "approve", "reason": "seen", "at": office.now, "valid_for": HOUR} | wrong
    with pytest.raises(BadInput, match="the decision cannot be written"):
        sign(office.action, office.key("ann"), **terms)


def test_nonces_are_32_hex_digits():
    assert len(bytes.fromhex(new_nonce())) == 16
