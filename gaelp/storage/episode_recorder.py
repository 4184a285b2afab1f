"""Stream episodes into a store from a background thread: a slow store slows the producer or spills to disk.

Nothing is dropped: what the store does not take within `wait_seconds`, or refuses, is written to the spill folder and
replayed when the recorder closes, or by the next recorder with the same folder.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa

from gaelp.errors import GaelpError
from gaelp.observability import get_logger
from gaelp.storage.row_check import check_rows
from gaelp.storage.schema import TABLES, TableName
from gaelp.storage.spill import replay_spilled, spill_batch, spilled_batches
from gaelp.storage.store import EpisodeStore

__all__ = ["EpisodeRecorder", "RecorderFigures", "RecorderLimits"]

TableRows = Mapping[TableName, pa.Table]
MakeRows = Callable[[], TableRows]

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RecorderLimits:
    """How much waits in memory, how much is written at once, and how long the producer waits for the store."""

    queued_rows: int = 1_000_000
    written_rows: int = 500_000
    wait_seconds: float = 10.0
    idle_seconds: float = 1.0  # a smaller batch is written after so long


@dataclass(frozen=True, slots=True)
class RecorderFigures:
    """Live figures: rows by where they are, and what the producer waited."""

    stored: int = 0
    already_stored: int = 0
    queued: int = 0
    spilled: int = 0  # batches written to the spill folder by this recorder
    waited_seconds: float = 0.0


class EpisodeRecorder:
    """A queue of batches with a limit, and the thread that appends them to the store; use it as a context manager."""

    def __init__(self, store: EpisodeStore, spill_folder: Path, limits: RecorderLimits | None = None) -> None:
        self._store, self._spill_folder, self._limits = store, spill_folder, limits or RecorderLimits()
        self._queue: list[tuple[MakeRows, int]] = []
        self._figures = RecorderFigures()
        self._problem: Exception | None = None
        self._closing = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="episode-recorder", daemon=True)
        self._thread.start()

    def put(self, batch: TableRows) -> None:
        """Queue a batch, which is stored whole; waits while the queue is full, then spills the batch to disk."""
        self.put_later(lambda: batch, sum(table.num_rows for table in batch.values()))

    def put_later(self, make: MakeRows, rows: int) -> None:
        """Queue a batch of so many rows that the background thread makes, so that the producer loses no time."""
        begun = time.monotonic()
        with self._changed:
            fits = self._changed.wait_for(lambda: self._has_room(rows), self._limits.wait_seconds)
            self._count(waited_seconds=time.monotonic() - begun)
            if fits:
                self._queue.append((make, rows))
                self._count(queued=rows)
        if not fits:
            self._spill(make())

    def _has_room(self, rows: int) -> bool:
        return not self._queue or self._figures.queued + rows <= self._limits.queued_rows

    @property
    def figures(self) -> RecorderFigures:
        """What was stored so far, and what waits."""
        with self._changed:
            return self._figures

    def close(self) -> RecorderFigures:
        """Write what is queued, replay what was spilled; GaelpError if some of it is only in the spill folder."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        try:
            replayed = replay_spilled(self._store, self._spill_folder)
            with self._changed:
                self._count(stored=replayed.stored, already_stored=replayed.already_stored)
        except (GaelpError, OSError) as problem:
            self._problem = self._problem or problem
        waiting = spilled_batches(self._spill_folder)
        if waiting:
            raise GaelpError(
                f"{len(waiting)} batches of episodes are not in the store but in {self._spill_folder}"
                f" ({self._problem}): nothing is lost; fix the store, and the next run stores them"
            ) from self._problem
        return self._figures

    def __enter__(self) -> Self:
        """Return the recorder, which works already."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it; an error of the block is not hidden by one of the store."""
        try:
            self.close()
        except GaelpError as problem:
            if error is None:
                raise
            _log.warning("episodes wait in the spill folder", problem=str(problem))

    def _work(self) -> None:
        while waiting := self._next():
            batches: list[TableRows] = []
            try:
                batches += [make() for make, _ in waiting]
                appended = self._store.append(_joined(batches))
            except Exception as problem:  # noqa: BLE001 - whatever it is, the rows are kept
                self._problem = self._problem or problem
                _log.warning("the episode store takes no rows; they are spilled to disk", problem=str(problem))
                for batch in batches:
                    self._spill(batch)
            else:
                with self._changed:
                    self._count(stored=appended.stored, already_stored=appended.already_stored)
            with self._changed:
                self._count(queued=-sum(rows for _, rows in waiting))

    def _next(self) -> list[tuple[MakeRows, int]]:
        """Return the batches to write now, none at the end; the figures count them as queued until they are written."""
        with self._changed:
            self._changed.wait_for(lambda: self._closing or bool(self._queue))
            if not self._closing:
                self._changed.wait_for(self._has_enough, self._limits.idle_seconds)
            waiting, rows = list[tuple[MakeRows, int]](), 0
            while self._queue and (not waiting or rows < self._limits.written_rows):
                waiting.append(self._queue.pop(0))
                rows += waiting[-1][1]
            return waiting

    def _has_enough(self) -> bool:
        return self._closing or self._figures.queued >= self._limits.written_rows

    def _spill(self, batch: TableRows) -> None:
        spill_batch(self._spill_folder, batch)
        with self._changed:
            self._count(spilled=1)

    def _count(self, **changes: float) -> None:
        """Add to the figures; call it while `_changed` is held."""
        values = {name: getattr(self._figures, name) + change for name, change in changes.items()}
        self._figures = replace(self._figures, **values)
        self._changed.notify_all()


def _joined(batches: list[TableRows]) -> dict[TableName, pa.Table]:
    names = dict.fromkeys(name for batch in batches for name in batch)
    return {name: _concatenated(name, [batch[name] for batch in batches if name in batch]) for name in names}


def _concatenated(name: TableName, tables: list[pa.Table]) -> pa.Table:
    """One table; text is dictionary-encoded if it is so in all of them."""
    if any(table.schema != tables[0].schema for table in tables):
        tables = [check_rows(name, table).cast(TABLES[name].columns) for table in tables]
    return pa.concat_tables(tables)
