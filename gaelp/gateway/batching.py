"""Let requests share calls: whatever waits when the last call has ended is decided together, without a timer."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from gaelp.errors import GaelpError
from gaelp.gateway.decider import Decided, Decider
from gaelp.gateway.wire import WireRows

__all__ = ["Batcher", "TooBusy"]

T = TypeVar("T")


class TooBusy(GaelpError):
    """More waits for a decision than is allowed."""


@dataclass(slots=True)
class _Waiting:
    asked: WireRows
    answer: "asyncio.Future[Decided]"


class Batcher:
    """A queue before the one thread that decides. There is no timer: alone, a request is decided at once."""

    def __init__(self, decider: Decider, *, max_batch: int, max_waiting: int) -> None:
        self._decider, self._max_batch, self._max_waiting = decider, max_batch, max_waiting
        self._queue: deque[_Waiting] = deque()
        self._waiting = 0
        self._thread = ThreadPoolExecutor(1, "gaelp-gateway-decide")
        self._task: asyncio.Task[None] | None = None

    async def decide(self, asked: WireRows) -> Decided:
        """The decisions for these campaigns; TooBusy where too many wait."""
        count = len(asked.campaigns)
        if self._waiting + count > self._max_waiting:
            raise TooBusy(
                f"{self._waiting:,} campaigns wait for a decision; allowed: {self._max_waiting:,}. Ask again later"
            )
        waiting = _Waiting(asked, asyncio.get_running_loop().create_future())
        self._queue.append(waiting)
        self._waiting += count
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work())
        return await waiting.answer

    async def run(self, call: Callable[[], T]) -> T:
        """Run something else in the thread that decides, between two batches."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    async def _work(self) -> None:
        while self._queue:
            batch = self._next()
            self._decider.metrics.batch.observe(sum(len(each.asked.campaigns) for each in batch))
            results = await self.run(lambda batch=batch: self._decided(batch))  # type: ignore[misc]
            for waiting, result in zip(batch, results, strict=True):
                self._waiting -= len(waiting.asked.campaigns)
                if waiting.answer.done():  # its caller hung up
                    continue
                if isinstance(result, Exception):
                    waiting.answer.set_exception(result)
                else:
                    waiting.answer.set_result(result)
            traffic = self._decider.serving.traffic
            if traffic is not None and traffic.shadow:
                done = [each.asked for each, result in zip(batch, results, strict=True) if isinstance(result, Decided)]
                await self.run(lambda done=done: self._watch(done))  # type: ignore[misc]

    def _next(self) -> list[_Waiting]:
        """The requests that fit into one call; a campaign has one place in it."""
        first = self._queue.popleft()
        batch, names, count = [first], set(first.asked.campaigns), len(first.asked.campaigns)
        keys = first.asked.arrays.keys()
        while self._queue:
            following = self._queue[0].asked
            count += len(following.campaigns)
            if count > self._max_batch or following.arrays.keys() != keys or not names.isdisjoint(following.campaigns):
                break
            names.update(following.campaigns)
            batch.append(self._queue.popleft())
        return batch

    def _decided(self, batch: Sequence[_Waiting]) -> list[Decided | Exception]:
        """Decide all in one call; if that fails, each request by itself, so that each gets its own error."""
        if len(batch) > 1:
            try:
                return list(_split(self._decider.decide(_joined(batch)), batch))
            except Exception:  # noqa: BLE001, S110 - each request meets its own error below
                pass
        return [self._one(waiting.asked) for waiting in batch]

    def _one(self, asked: WireRows) -> Decided | Exception:
        try:
            return self._decider.decide(asked)
        except Exception as problem:  # noqa: BLE001 - it is raised where the answer is awaited
            return problem

    def _watch(self, done: Sequence[WireRows]) -> None:
        for asked in done:
            self._decider.watch(asked)


def _joined(batch: Sequence[_Waiting]) -> WireRows:
    names = [name for each in batch for name in each.asked.campaigns]
    keys = batch[0].asked.arrays.keys()
    return WireRows(names, {key: np.concatenate([each.asked.arrays[key] for each in batch]) for key in keys})


def _split(decided: Decided, batch: Sequence[_Waiting]) -> list[Decided]:
    parts, begin = [], 0
    for each in batch:
        here = slice(begin, begin + len(each.asked.campaigns))
        begin = here.stop
        arrays = {
            name: getattr(decided, name)[here]
            for name in ("hour", "assigned", "version", "repeated", "bid_micros", "pace", "creative")
        }
        parts.append(Decided(campaigns=each.asked.campaigns, **arrays))
    return parts
