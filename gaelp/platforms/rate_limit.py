"""A client-side rate limit: so many calls a second, with a burst of one second; callers wait their turn."""

import time
from collections.abc import Callable
from threading import Lock

__all__ = ["RateLimit"]


class RateLimit:
    """Shared by all threads of a connection."""

    def __init__(
        self,
        calls_per_second: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._interval = 1 / calls_per_second
        self._burst = max(1.0, calls_per_second) * self._interval
        self._clock, self._sleep, self._lock = clock, sleep, Lock()
        self._next = clock() - self._burst  # when the next call would be due if calls were evenly spaced

    def wait(self) -> None:
        """Return when this call may be made."""
        with self._lock:
            now = self._clock()
            self._next = max(self._next, now - self._burst) + self._interval
            seconds = self._next - now
        if seconds > 0:
            self._sleep(seconds)
