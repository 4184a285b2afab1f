"""A request is found by the first digits of its hash, if exactly one fits."""

import pytest

from gaelp.approvals import ApprovalStore, SignedAction, Trust, action_hash, approvals_place
from gaelp.authority.requests import existing_approvals, find_request, request_statuses
from gaelp.clock import SystemClock
from gaelp.config import load_settings
from gaelp.errors import BadInput


@pytest.fixture
def settings(tmp_path):
    return load_settings(None, environ={}, overrides=[f"home={tmp_path / 'home'}"]).settings


def stop(number):
    return SignedAction(kind="revive", run_id="kill-switch", requester="kill-switch", subject=f"stop {number}")


def test_where_nobody_has_requested_anything_there_is_nothing_to_decide(settings):
    assert request_statuses(settings, Trust()) == []
    with pytest.raises(BadInput, match="there are no approvals yet"):
        existing_approvals(settings)


def test_requests_are_listed_with_their_state_and_found_by_their_digits(settings):
    store = ApprovalStore(approvals_place(settings), SystemClock())
    for number in range(2):
        store.request(stop(number))
    statuses = request_statuses(settings, Trust())
    assert [(status.action.subject, status.state, status.signed_by) for status in statuses] == [
        ("stop 0", "waiting", ()),
        ("stop 1", "waiting", ()),
    ]
    wanted = action_hash(stop(1))
    assert find_request(existing_approvals(settings), wanted[:12].upper()).action == stop(1)
    for digits in ("", "xyz"):
        with pytest.raises(BadInput, match=f"ACTION '{digits}' fits 0 actions; known: "):
            find_request(store, digits)
    with pytest.raises(BadInput, match="fits 0 mandates; known: none"):
        find_request(store, wanted[:12], "mandate")
