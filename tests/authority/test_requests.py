"""A request is found by the first digits of its hash, if exactly one begins with them."""

import pytest

from gaelp.approvals import ApprovalStore, SignedAction, action_hash, approvals_place
from gaelp.authority.requests import existing_approvals, find_request
from gaelp.clock import SystemClock
from gaelp.config import load_settings
from gaelp.errors import BadInput


@pytest.fixture
def settings(tmp_path):
    return load_settings(None, environ={}, overrides=[f"home={tmp_path / 'home'}"]).settings


def stop(number):
    return SignedAction(kind="revive", run_id="kill-switch", requester="kill-switch", subject=f"stop {number}")


def test_where_nobody_has_requested_anything_there_is_nothing_to_find(settings):
    with pytest.raises(BadInput, match="there are no approvals yet"):
        existing_approvals(settings)


def test_a_request_is_found_by_its_first_digits(settings):
    store = ApprovalStore(approvals_place(settings), SystemClock())
    for number in range(2):
        store.request(stop(number))
    wanted = action_hash(stop(1))
    assert find_request(existing_approvals(settings), wanted[:12].upper()).action == stop(1)
    for digits in ("", "xyz"):
        with pytest.raises(BadInput, match=f"no action begins with '{digits}'; there are: ") as problem:
            find_request(store, digits)
        assert f"{wanted[:12]} (release the stop stop 1)" in str(problem.value)
    with pytest.raises(BadInput, match="there are no mandates yet"):
        find_request(store, wanted[:12], "mandate")


def test_digits_that_begin_several_are_answered_with_those(settings):
    store = ApprovalStore(approvals_place(settings), SystemClock())
    for number in range(17):  # there are 16 first digits
        store.request(stop(number))
    first_digits = [action_hash(stop(number))[0] for number in range(17)]
    double = next(digit for digit in first_digits if first_digits.count(digit) > 1)
    with pytest.raises(BadInput, match=f"actions begin with '{double}': .*Give more digits"):
        find_request(store, double)
    with pytest.raises(BadInput, match="the newest 10 of 17 are: "):
        find_request(store, "xyz")
