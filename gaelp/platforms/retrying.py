"""Repeat calls to a platform safely: reads at growing intervals, changes only after a search for their trace."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from gaelp.errors import Refused
from gaelp.platforms.platform import CallResult, Done, Rejected, Unknown

__all__ = ["ErrorReading", "make_once", "read_with_retries", "wait_seconds"]

_READS, _CHANGES = 4, 3
_FIRST_WAIT_SECONDS = 0.1

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class ErrorReading:
    """What the errors of a client library mean."""

    is_refusal: Callable[[Exception], bool]  # the server says that it will not carry the call out, now or later
    is_worth_a_retry: Callable[[Exception], bool]  # the same call may succeed a moment later
    describe: Callable[[Exception], str]  # without secrets


def wait_seconds(attempt: int, jitter: float) -> float:
    """How long to wait after this attempt (from 0): longer each time, and not in step with other clients."""
    return _FIRST_WAIT_SECONDS * float(2**attempt) * (0.5 + jitter)


def read_with_retries(
    read: Callable[[], Answer], errors: ErrorReading, wait: Callable[[int], None], *, seconds: float
) -> Answer:
    """Make a call that changes nothing; no new attempt begins after so many seconds."""
    give_up_at = time.monotonic() + seconds
    for attempt in range(_READS - 1):
        try:
            return read()
        except Exception as error:
            if not errors.is_worth_a_retry(error) or time.monotonic() >= give_up_at:
                raise
        wait(attempt)
    return read()


def make_once(
    was_made: Callable[[], bool],
    make: Callable[[], None],
    errors: ErrorReading,
    wait: Callable[[int], None],
    *,
    search_first: bool = True,
) -> CallResult:
    """Make a change unless it was made; search for its trace before every further attempt.

    Without `search_first`, the platform itself must refuse a change that was made before: its refusal leads to the
    search.

    `make` reads what it needs and raises Refused for what cannot be done, such as a change of a missing campaign.
    """
    doubt = ""  # once an attempt may have got through, no later refusal proves that it has not
    for attempt in range(_CHANGES):
        try:
            if not ((attempt or search_first) and was_made()):
                make()
        except Refused as refusal:
            return Unknown(doubt) if doubt else Rejected(str(refusal))
        except Exception as error:  # noqa: BLE001 - whatever it is, only a search shows whether the change was made
            failed = _after_error(was_made, error, errors, doubt)
            if failed is not None:
                return failed
            doubt = errors.describe(error)
        else:
            return Done()
        if attempt < _CHANGES - 1:
            wait(attempt)
    return Unknown(doubt)


def _after_error(was_made: Callable[[], bool], error: Exception, errors: ErrorReading, doubt: str) -> CallResult | None:
    """The outcome after an error; None if the change may be sent again."""
    what = errors.describe(error)
    try:
        if was_made():
            return Done()
    except Exception as problem:  # noqa: BLE001 - then nothing is known
        return Unknown(f"{what}; and it could not be looked up: {errors.describe(problem)}")
    if errors.is_refusal(error):
        return Unknown(f"{doubt}; then {what}") if doubt else Rejected(what)
    return None if errors.is_worth_a_retry(error) else Unknown(what)
