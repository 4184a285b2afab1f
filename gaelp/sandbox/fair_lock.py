"""A lock that threads get in the order in which they asked: neither time nor API calls can keep the other out."""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["FairLock"]


class FairLock:
    """First come, first served; a thread that asks again while it holds the lock is refused, not left waiting."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[threading.Event] = deque()
        self._owner: int | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock inside the block."""
        self._acquire()
        try:
            yield
        finally:
            self._release()

    def _acquire(self) -> None:
        me = threading.get_ident()
        with self._guard:
            if self._owner == me:
                raise RuntimeError("this thread is inside a call already: end that call before the next one")
            if self._owner is None:
                self._owner = me
                return
            my_turn = threading.Event()
            self._waiting.append(my_turn)
        my_turn.wait()
        self._owner = me

    def _release(self) -> None:
        with self._guard:
            if self._waiting:
                self._owner = 0  # of the thread that is being woken: still not free
                self._waiting.popleft().set()
            else:
                self._owner = None
