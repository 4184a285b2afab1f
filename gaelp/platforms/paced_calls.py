"""Pace the calls of one connection: a rate limit for all of them, retries at growing intervals for reads."""

import random
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from gaelp.platforms.rate_limit import RateLimit
from gaelp.platforms.retrying import ErrorReading, read_with_retries, wait_seconds

__all__ = ["PacedCalls", "Pacing"]

Answer = TypeVar("Answer")


class Pacing(Protocol):
    """The settings of a connection that say how patient it is."""

    @property
    def calls_per_second(self) -> float:
        """How many calls are made at most."""
        ...

    @property
    def deadline_seconds(self) -> float:
        """How long one call may take."""
        ...


class PacedCalls:
    """Shared by all threads of a connection; `errors` says which errors of its client library are worth a retry."""

    def __init__(
        self,
        pacing: Pacing,
        errors: ErrorReading,
        *,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._pacing, self._errors = pacing, errors
        self._sleep, self._jitter = sleep, jitter
        self._rate = RateLimit(pacing.calls_per_second, sleep=sleep)

    def once(self, call: Callable[[], Answer], *, urgent: bool = False) -> Answer:
        """Make a call once; an urgent one is not held back by the rate limit."""
        if not urgent:
            self._rate.wait()
        return call()

    def with_retries(self, read: Callable[[], Answer]) -> Answer:
        """Make a call that changes nothing; a few attempts at growing intervals, for two deadlines at most."""
        return read_with_retries(
            lambda: self.once(read), self._errors, self.wait, seconds=self._pacing.deadline_seconds
        )

    def wait(self, attempt: int) -> None:
        """Wait before the next attempt: longer each time, and not in step with other clients."""
        self._sleep(wait_seconds(attempt, self._jitter()))
