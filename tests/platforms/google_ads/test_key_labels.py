"""A key takes effect once: repeated, doubled, or refused after an attempt that may have got through."""

import pytest

from gaelp.errors import Refused
from gaelp.platforms import Done, Rejected, Unknown
from gaelp.platforms.google_ads.gaql import query
from gaelp.platforms.google_ads.key_labels import change_once, find_trace
from gaelp.platforms.google_ads.operations import Operations
from gaelp.sandbox.faults import Fault, FaultPlan


@pytest.fixture
def connection(platform):
    return platform._connection


@pytest.fixture
def change(connection):
    """Create a label as the change of a key; each call plans it anew."""
    planned = []

    def make(key="k1", name="made"):
        def plan():
            planned.append(name)
            return [Operations(connection).create_label(name)]

        return change_once(connection, key, "make", plan)

    make.planned = planned
    return make


def made(connection):
    return len(connection.search(query("label", "label.id", where=["label.name = 'made'"])))


def test_a_change_and_its_label_are_made_together(connection, change):
    assert change() == Done()
    assert (made(connection), find_trace(connection, "k1")) == (1, "make")
    assert find_trace(connection, "k2") is None


def test_a_used_key_changes_nothing(connection, change):
    change()
    assert change(name="another") == Done()
    assert change.planned == ["made"]


def test_a_change_that_is_refused_leaves_no_label(connection, change):
    change("k1")
    assert isinstance(change("k2"), Rejected)  # a second label of the same name
    assert find_trace(connection, "k2") is None


def test_what_cannot_be_planned_is_rejected(connection):
    def plan():
        raise Refused("there is no campaign")

    assert change_once(connection, "k1", "make", plan) == Rejected("there is no campaign")


def error(status, when="before"):
    return Fault(front="google", effect="error", method="*.Mutate", status=status, when=when)


@pytest.mark.parametrize(
    ("faults", "expected", "count"),
    [
        ([error("UNAVAILABLE"), error("INTERNAL")], Done, 1),
        ([error("UNAVAILABLE")] * 3, Unknown, 0),
        ([error("INVALID_ARGUMENT")], Rejected, 0),
        ([error("INVALID_ARGUMENT", "after")], Done, 1),
        ([error("UNAVAILABLE", "after")], Done, 1),
        ([error("CANCELLED")], Unknown, 0),  # not worth a retry, and no refusal
        ([error("UNAVAILABLE"), error("PERMISSION_DENIED")], Unknown, 0),  # the first attempt may still arrive
        ([Fault(front="google", effect="twice", method="*.Mutate")], Done, 1),
    ],
)
def test_each_way_to_fail_has_one_outcome_and_at_most_one_effect(connection, change, sandbox, faults, expected, count):
    sandbox.faults.replace(FaultPlan(faults=faults))
    outcome = change()
    assert isinstance(outcome, expected)
    assert made(connection) == count


def test_without_an_answer_to_the_search_nothing_is_concluded(connection, change, sandbox):
    reads = Fault(front="google", effect="error", method="*.SearchStream", status="PERMISSION_DENIED", skip=1)
    sandbox.faults.replace(FaultPlan(faults=[error("INVALID_ARGUMENT", "after"), reads]))
    outcome = change()
    assert isinstance(outcome, Unknown)
    assert "could not be looked up" in outcome.detail
    assert change() == Done()
