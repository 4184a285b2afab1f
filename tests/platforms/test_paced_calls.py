"""Calls of a connection share one rate limit, which urgent calls skip; reads are repeated, changes are not."""

from types import SimpleNamespace

import pytest

from gaelp.platforms.paced_calls import PacedCalls
from gaelp.platforms.retrying import ErrorReading

ERRORS = ErrorReading(lambda _: False, lambda error: isinstance(error, TimeoutError), str)


def paced(calls_per_second=1000.0):
    slept = []
    settings = SimpleNamespace(calls_per_second=calls_per_second, deadline_seconds=60.0)
    return PacedCalls(settings, ERRORS, sleep=slept.append, jitter=lambda: 0.5), slept


def failing(errors):
    def call():
        if errors:
            raise errors.pop(0)
        return "answer"

    return call


def test_only_urgent_calls_skip_the_rate_limit():
    calls, slept = paced(calls_per_second=1.0)
    for _ in range(5):
        assert calls.once(lambda: "answer", urgent=True) == "answer"
    assert slept == []
    for _ in range(3):
        calls.once(lambda: "answer")
    assert len(slept) == 2


def test_a_read_is_repeated_at_growing_intervals_and_a_change_is_made_once():
    calls, slept = paced()
    assert calls.with_retries(failing([TimeoutError(), TimeoutError()])) == "answer"
    assert slept == [0.1, 0.2]
    with pytest.raises(TimeoutError):
        calls.once(failing([TimeoutError()]))


def test_an_error_that_no_retry_can_help_is_raised_at_once():
    calls, slept = paced()
    with pytest.raises(ValueError, match="wrong"):
        calls.with_retries(failing([ValueError("wrong")]))
    assert slept == []


def test_each_attempt_of_a_read_counts_for_the_rate_limit():
    calls, slept = paced(calls_per_second=1.0)
    calls.with_retries(failing([TimeoutError()] * 2))
    assert [each for each in slept if each not in (0.1, 0.2)] != []
