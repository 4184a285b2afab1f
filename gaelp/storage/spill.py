"""Batches that a store could not take yet: whole Parquet files on disk until they are replayed."""

import os
import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from gaelp.storage.commit_folder import sync_folder
from gaelp.storage.file_lock import file_locked
from gaelp.storage.schema import TableName
from gaelp.storage.store import Appended, EpisodeStore

__all__ = ["replay_spilled", "spill_batch", "spilled_batches"]

_DRAFT = ".draft-"


def spill_batch(folder: Path, batch: Mapping[TableName, pa.Table]) -> Path:
    """Write a batch to a folder of its own, which appears whole or not at all."""
    name = uuid.uuid4().hex
    draft, target = folder / f"{_DRAFT}{name}", folder / name
    draft.mkdir(parents=True)
    for table, rows in batch.items():
        with (draft / f"{table}.parquet").open("wb") as file:
            pq.write_table(rows, file, compression="zstd")
            file.flush()
            os.fsync(file.fileno())
    draft.rename(target)
    sync_folder(folder)
    return target


def spilled_batches(folder: Path) -> list[Path]:
    """Return the batches that wait to be replayed."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(_DRAFT))


def replay_spilled(store: EpisodeStore, folder: Path) -> Appended:
    """Append every batch that waits, and delete each once it is stored; repeating it stores nothing twice."""
    stored, already = 0, 0
    if not spilled_batches(folder):
        return Appended(0, 0)
    with file_locked(folder / "replay.lock"):
        for path in spilled_batches(folder):
            batch = {TableName(file.stem): pq.read_table(file) for file in sorted(path.glob("*.parquet"))}
            appended = store.append(batch)
            shutil.rmtree(path)
            stored, already = stored + appended.stored, already + appended.already_stored
    return Appended(stored, already)
