import pytest

from gaelp.approvals import action_hash, open_database
from gaelp.approvals.tables import all_requests, approvals_of, is_known, known_request, request_of, use_of, used_nonces
from gaelp.errors import Refused


def test_what_is_stored_is_read_back_and_what_is_not_there_is_absent(office, store, tmp_path):
    first, other = office.decided("ann", office.action), office.decided("bob", office.action)
    request = store.request(office.action)
    store.submit(first, office.policy, office.trust)
    wanted = action_hash(office.action)
    with open_database(tmp_path / "approvals.db").reading() as session:
        assert request_of(session, wanted) == known_request(session, office.action) == request
        assert all_requests(session) == (request,)
        assert approvals_of(session, wanted) == (first,)
        assert (is_known(session, first), is_known(session, other)) == (True, False)
        assert (use_of(session, wanted), used_nonces(session)) == (None, frozenset())
        assert request_of(session, "0" * 64) is None
        with pytest.raises(Refused, match="request it, and have exactly this action signed"):
            known_request(session, office.action_with(attempt=2))


def test_a_nonce_cannot_belong_to_two_decisions(office, store, tmp_path):
    store.request(office.action)
    nonce = "ab" * 16
    store.submit(office.decided("ann", office.action, nonce=nonce), office.policy, office.trust)
    with (
        open_database(tmp_path / "approvals.db").reading() as session,
        pytest.raises(Refused, match="belongs to another"),
    ):
        is_known(session, office.decided("bob", office.action, nonce=nonce))
