"""Reads are repeated a few times; a change is sent again only if a search shows that it was not made."""

import pytest

from gaelp.errors import Refused
from gaelp.platforms import Done, Rejected, Unknown
from gaelp.platforms.retrying import ErrorReading, make_once, read_with_retries, wait_seconds

ERRORS = ErrorReading(
    is_refusal=lambda error: isinstance(error, PermissionError),
    is_worth_a_retry=lambda error: isinstance(error, TimeoutError),
    describe=str,
)


class Server:
    """Fails as told, before or after it has carried a change out; `effects` counts how often it did."""

    def __init__(self, *faults, search_fails=False):
        self.faults, self.effects, self.search_fails = list(faults), 0, search_fails

    def was_made(self):
        if self.search_fails and not self.faults:
            raise TimeoutError("no search")
        return self.effects > 0

    def make(self):
        when, error = self.faults.pop(0) if self.faults else ("never", None)
        if when == "before":
            raise error
        self.effects += 1
        if when == "after":
            raise error

    def change(self):
        return make_once(self.was_made, self.make, ERRORS, lambda _: None)


@pytest.mark.parametrize(
    ("faults", "outcome", "effects"),
    [
        ([], Done(), 1),
        ([("before", TimeoutError("late"))], Done(), 1),
        ([("after", TimeoutError("late"))], Done(), 1),
        ([("after", PermissionError("no"))], Done(), 1),
        ([("before", PermissionError("no"))], Rejected("no"), 0),
        ([("before", Refused("no campaign"))], Rejected("no campaign"), 0),
        ([("before", ValueError("odd"))], Unknown("odd"), 0),
        ([("before", TimeoutError("late"))] * 3, Unknown("late"), 0),
        ([("before", TimeoutError("late")), ("before", PermissionError("no"))], Unknown("late; then no"), 0),
        ([("before", TimeoutError("late")), ("before", Refused("gone"))], Unknown("late"), 0),
    ],
)
def test_a_change_takes_effect_at_most_once_and_doubt_is_never_a_rejection(faults, outcome, effects):
    server = Server(*faults)
    assert (server.change(), server.effects) == (outcome, effects)


def test_without_a_search_nothing_is_known():
    server = Server(("after", PermissionError("no")), search_fails=True)
    assert server.change() == Unknown("no; and it could not be looked up: no search")


def test_a_change_that_was_made_is_not_sent_again():
    server = Server()
    assert [server.change(), server.change()] == [Done(), Done()]
    assert server.effects == 1


def test_reads_end_with_the_last_error_and_do_not_repeat_a_refusal():
    errors, waits = [TimeoutError("late")] * 9, []

    def read():
        raise errors.pop()

    with pytest.raises(TimeoutError):
        read_with_retries(read, ERRORS, waits.append, seconds=60)
    assert (len(errors), waits) == (5, [0, 1, 2])
    errors[:] = [PermissionError("no")] * 2
    with pytest.raises(PermissionError):
        read_with_retries(read, ERRORS, waits.append, seconds=60)
    assert len(errors) == 1


def test_waits_grow_and_differ_between_clients():
    assert wait_seconds(0, 0.0) < wait_seconds(0, 1.0) < wait_seconds(2, 0.5)
