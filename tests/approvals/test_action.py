import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gaelp.approvals import SignedAction, action_hash
from gaelp.approvals.canonical import model_bytes, read_model
from gaelp.errors import DataError

HEX = st.sampled_from(["ab" * 32, "cd" * 32])
NAMES = st.sampled_from(["daily", "total", "Daily", "campaign-1"])
# Letters that look alike: Latin a and Cyrillic а, Latin o and Greek ο, é in its composed form.
LABELS = st.text(alphabet="aаoοé1-", min_size=1, max_size=3)
ACTIONS = st.builds(
    SignedAction,
    kind=st.just("release"),
    run_id=LABELS,
    requester=st.sampled_from(["ann", "bob"]),
    world=st.sampled_from(["live", "sandbox"]),
    attempt=st.integers(0, 2),
    model_hash=HEX,
    evidence_hash=HEX,
    account=LABELS,
    currency=st.sampled_from(["USD", "EUR"]),
    campaigns=st.lists(LABELS, min_size=1, max_size=3, unique=True).map(tuple),
    limits_micros=st.dictionaries(NAMES, st.integers(0, 2), min_size=1, max_size=3),
)


@given(ACTIONS, ACTIONS)
def test_equal_actions_and_no_others_have_equal_bytes_and_hashes(left, right):
    assert (model_bytes(left) == model_bytes(right)) == (left == right)
    assert (action_hash(left) == action_hash(right)) == (left == right)


@given(ACTIONS)
def test_an_action_survives_being_stored(action):
    assert read_model(SignedAction, model_bytes(action)) == action


def test_the_order_of_campaigns_and_limits_does_not_count(office):
    other = office.action_with(campaigns=("search", "brand"), limits_micros={"total": 500_000_000, "daily": 20_000_000})
    assert action_hash(other) == action_hash(office.action)


def test_every_field_counts(office):
    changes = {
        "run_id": "20261116-020641-7f3a9d",
        "requester": "bob",
        "world": "sandbox",
        "gate": "pilot",
        "attempt": 2,
        "model_hash": "ac" * 32,
        "evidence_hash": "ce" * 32,
        "config_hash": "ef" * 32,
        "subject": "stop-1",
        "account": "123-456-7891",
        "currency": "EUR",
        "campaigns": ("brand",),
        "limits_micros": {"daily": 20_000_001, "total": 500_000_000},
        "kind": "budget",
    }
    assert changes.keys() == SignedAction.model_fields.keys() - {"mandate"}  # see test_mandate.py
    hashes = {action_hash(office.action)}
    for name, value in changes.items():
        extra = {"subject": "cap-1"} if name == "kind" else {}
        hashes.add(action_hash(office.action_with(**{name: value}, **extra)))
    assert len(hashes) == len(changes) + 1


def test_the_hash_is_pinned_so_that_approvals_outlive_a_release_of_this_code(office):
    assert action_hash(office.action) == "7ff70830e189af93864ca666fb5e43af26d29bb2607383cedacec9babe659018"


@pytest.mark.parametrize(
    "changes",
    [
        {"limits_micros": {"daily": 20.0}},
        {"limits_micros": {"daily": True}},
        {"limits_micros": {"daily": "20"}},
        {"limits_micros": {"daily": -1}},
        {"limits_micros": {"daily": 2**63}},
        {"attempt": True},
        {"attempt": 1.0},
        {"model_hash": "AB" * 32},
        {"model_hash": "ab" * 32 + "\n"},
        {"model_hash": None},
        {"campaigns": ()},
        {"campaigns": ("a", "a")},
        {"campaigns": ("e\u0301",)},
        {"run_id": "run\u200b"},
        {"run_id": " run"},
        {"run_id": "run\u202e"},
        {"requester": "аnn"},
        {"currency": "usd"},
        {"kind": "spend"},
        {"kind": "revive", "subject": None},
        {"note": "unknown"},
    ],
    ids=str,
)
def test_an_action_that_is_vague_or_could_be_misread_cannot_be_made(office, changes):
    with pytest.raises((ValidationError, ValueError)):
        office.action_with(**changes)


def test_a_stored_action_written_in_another_way_is_refused(office):
    raw = model_bytes(office.action)
    for changed in (
        raw.replace(b'["brand","search"]', b'["search","brand"]'),
        raw.replace(b":1,", b":1.0,"),
        raw + b" ",
    ):
        assert changed != raw
        with pytest.raises(DataError):
            read_model(SignedAction, changed)
