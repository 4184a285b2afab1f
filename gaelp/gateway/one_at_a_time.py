"""Run blocking work away from the event loop, one call after another: changes of versions and traffic."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from gaelp.api.background_call import begin

__all__ = ["OneAtATime"]

T = TypeVar("T")


class OneAtATime:
    """A later call waits for the earlier ones; who hangs up does not undo a call."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def run(self, call: Callable[[], T]) -> T:
        """The result of a call in a thread of its own."""
        async with self._lock:
            return await asyncio.wrap_future(begin(call))
