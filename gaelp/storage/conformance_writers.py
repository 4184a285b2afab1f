"""Writers in processes of their own, for the checks of a store: several at once, and one that is killed."""

import multiprocessing
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from multiprocessing.synchronize import Barrier

import pyarrow as pa

from gaelp.storage.conformance_rows import episode_batch
from gaelp.storage.schema import TableName
from gaelp.storage.store import Appended, EpisodeStore, RowFilter

__all__ = ["OpenStore", "kill_writers", "write_at_once"]

OpenStore = Callable[[], EpisodeStore]
Batches = Sequence[Mapping[TableName, pa.Table]]

_SECONDS_MAX = 250.0
_EPISODES, _STEPS, _APPENDS = 3, 4, 2  # of an append; an episode has one row of its own and one a step


def write_at_once(open_store: OpenStore, batches: Sequence[Batches]) -> list[Appended]:
    """Append each sequence of batches in a process of its own, all at the same time; return all answers."""
    context = _context(open_store)
    start = context.Barrier(len(batches))
    pipes = [context.Pipe(duplex=False) for _ in batches]
    writers = [
        context.Process(target=_write, args=(open_store, mine, sender, start))
        for mine, (_, sender) in zip(batches, pipes, strict=True)
    ]
    for writer, (_, sender) in zip(writers, pipes, strict=True):
        writer.start()
        sender.close()  # so that the pipe ends with the writer
    answers = [_answer(receiver) for receiver, _ in pipes]
    for writer in writers:
        writer.join(_SECONDS_MAX)
    return [appended for answer in answers for appended in answer]


def kill_writers(open_store: OpenStore, *, moments: int, seed: int = 7) -> None:
    """Kill a writer at random moments; AssertionError unless whole appends are stored and a retry adds the rest."""
    context, rng = _context(open_store), random.Random(seed)  # noqa: S311 - moments, not secrets
    open_store().close()
    seconds = _seconds_of_an_unharmed_writer(context, open_store)
    for moment in range(moments):
        source = f"killed-{moment}"
        batches = _batches(source)
        receiver, sender = context.Pipe(duplex=False)
        writer = context.Process(target=_write, args=(open_store, batches, sender, None))
        writer.start()
        sender.close()
        receiver.recv()  # the store is open
        time.sleep(rng.uniform(0.0, seconds))
        writer.kill()
        writer.join(_SECONDS_MAX)
        with closing(open_store()) as store:
            _check_whole(store, source)
            for batch in batches:
                store.append(batch)
            _check_whole(store, source, appends=_APPENDS)


def _seconds_of_an_unharmed_writer(context: ForkServerContext, open_store: OpenStore) -> float:
    receiver, sender = context.Pipe(duplex=False)
    writer = context.Process(target=_write, args=(open_store, _batches("unharmed"), sender, None))
    writer.start()
    sender.close()
    receiver.recv()
    begun = time.monotonic()
    _answer(receiver)
    seconds = time.monotonic() - begun
    writer.join(_SECONDS_MAX)
    return seconds


def _batches(source: str) -> Batches:
    return [
        episode_batch(_EPISODES, source=source, first=number * _EPISODES, steps=_STEPS) for number in range(_APPENDS)
    ]


def _check_whole(store: EpisodeStore, source: str, appends: int | None = None) -> None:
    """Every append is stored whole: as many decisions for each episode as it has steps, and no id twice."""
    rows = RowFilter(sources=(source,))
    ended = _column(store, TableName.EPISODES, rows, "episode")
    decided = _column(store, TableName.DECISIONS, rows, "episode")
    expected = sorted(episode for episode in ended for _ in range(_STEPS))
    if sorted(decided) != expected or len(ended) != len(set(ended)) or len(ended) % _EPISODES:
        raise AssertionError(f"a killed writer left parts: episodes {sorted(ended)}, decisions of {sorted(decided)}")
    if appends is not None and len(ended) != appends * _EPISODES:
        raise AssertionError(f"after the retry there are {len(ended)} episodes instead of {appends * _EPISODES}")


def _column(store: EpisodeStore, name: TableName, rows: RowFilter, column: str) -> list[str]:
    return [value for table in store.scan(name, rows, [column]) for value in table.column(column).to_pylist()]


def _write(open_store: OpenStore, batches: Batches, sender: Connection, start: Barrier | None) -> None:
    with closing(open_store()) as store:
        if start is None:
            sender.send("open")
        else:
            start.wait(_SECONDS_MAX)
        sender.send([store.append(batch) for batch in batches])


def _answer(receiver: Connection) -> list[Appended]:
    if not receiver.poll(_SECONDS_MAX):
        raise AssertionError(f"a writer did not end within {_SECONDS_MAX:g} s")
    try:
        answer: list[Appended] = receiver.recv()
    except EOFError:
        raise AssertionError("a writer failed; its error is printed above") from None
    return answer


def _context(open_store: OpenStore) -> ForkServerContext:
    """Processes that start from a clean one which has imported what they need."""
    context = multiprocessing.get_context("forkserver")
    opener = getattr(open_store, "func", open_store).__module__  # of a partial, the function inside
    context.set_forkserver_preload(["__main__", __name__, opener])
    return context
