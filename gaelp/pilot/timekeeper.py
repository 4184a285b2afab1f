"""Who lets time pass: in a sandbox the loop itself advances simulated time, on a live platform it sleeps."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from gaelp.clock import Clock
from gaelp.sandbox.control_client import SandboxHandle

__all__ = ["HeldClock", "SandboxTime", "Timekeeper", "WallTime"]

_SLICE = timedelta(seconds=5)


class Timekeeper(Protocol):
    """Lets time pass up to an instant, and never further by itself before the loop is done with an interval."""

    def now(self) -> datetime:
        """The platform's time."""
        ...

    def wait_until(self, instant: datetime, interrupted: Callable[[], bool]) -> bool:
        """Return True at this instant or later; False as soon as `interrupted` says so."""
        ...


@dataclass(frozen=True, slots=True)
class SandboxTime:
    """Simulated time: it does not move until the loop advances it."""

    handle: SandboxHandle

    def now(self) -> datetime:
        """The simulated instant."""
        return self.handle.now()

    def wait_until(self, instant: datetime, interrupted: Callable[[], bool]) -> bool:
        """Advance the sandbox."""
        if interrupted():
            return False
        if self.handle.now() < instant:
            self.handle.advance(instant)
        return True


@dataclass(frozen=True, slots=True)
class WallTime:
    """Real time, waited for in slices, so that a stop is noticed soon."""

    clock: Clock
    sleep: Callable[[float], None] = time.sleep

    def now(self) -> datetime:
        """The present instant."""
        return self.clock.now()

    def wait_until(self, instant: datetime, interrupted: Callable[[], bool]) -> bool:
        """Sleep until the instant."""
        while (left := instant - self.clock.now()) > timedelta(0):
            if interrupted():
                return False
            self.sleep(min(left, _SLICE).total_seconds())
        return not interrupted()


class HeldClock:
    """A clock that asks a timekeeper once an interval: simulated time does not move in between.

    Asking the sandbox takes a call; an order asks for the time a dozen times.
    """

    def __init__(self, timekeeper: Timekeeper) -> None:
        self._timekeeper = timekeeper
        self._now = timekeeper.now()

    def now(self) -> datetime:
        """The instant that was read last."""
        return self._now

    def read(self) -> datetime:
        """Ask again."""
        self._now = self._timekeeper.now()
        return self._now
