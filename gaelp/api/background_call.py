"""Keep blocking work away from the event loop: each call has its own thread, and waiting for it has a limit.

The usual pool of a web framework is shared: slow readings would fill it, and a stop would wait behind them.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from threading import BoundedSemaphore, Thread
from typing import TypeVar

from gaelp.errors import GaelpError

__all__ = ["FewThreads", "begin", "start_or_run_inline", "within"]

T = TypeVar("T")


def begin(call: Callable[[], T]) -> "Future[T]":
    """Start a call in a thread that waits for no other, and that the end of the process does not wait for."""
    done: Future[T] = Future()
    done.set_running_or_notify_cancel()  # who gives up waiting does not undo the call
    Thread(target=_finish, args=(done, call), name="gaelp-api", daemon=True).start()
    return done


def start_or_run_inline(call: Callable[[], T]) -> "Future[T]":
    """As `begin`; on a machine out of threads the call is made here and now, whoever else has to wait for it."""
    try:
        return begin(call)
    except RuntimeError:
        done: Future[T] = Future()
        _finish(done, call)
        return done


async def within(seconds: float, done: "Future[T]") -> T:
    """Return the result of a call, or raise TimeoutError; the call itself continues."""
    return await asyncio.wait_for(asyncio.wrap_future(done), seconds)


class FewThreads:
    """Calls of one kind, at most so many at a time: one too many is refused, for waiting would pile them up."""

    def __init__(self, most: int) -> None:
        self._most, self._free = most, BoundedSemaphore(most)

    def begin(self, call: Callable[[], T]) -> "Future[T]":
        """Start a call, or refuse it while all threads are taken."""
        if not self._free.acquire(blocking=False):
            raise GaelpError(f"{self._most} readings are under way and none has answered: try again later")

        def give_back_after() -> T:
            try:
                return call()
            finally:
                self._free.release()

        try:
            return begin(give_back_after)
        except RuntimeError:
            self._free.release()
            raise


def _finish(done: "Future[T]", call: Callable[[], T]) -> None:
    try:
        done.set_result(call())
    except BaseException as error:  # noqa: BLE001 - it is raised again where the result is asked for
        done.set_exception(error)
