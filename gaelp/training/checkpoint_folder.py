"""The checkpoints of one run in one folder: the last few and the best are kept, and there is always a whole one.

A checkpoint is called <serial>-step-<step>.safetensors. The serial counts saves: a run that went back to an earlier
step writes newer checkpoints of that step, so the newest is the one with the highest serial. An empty file of the same
name that ends in .best marks one to be kept. A folder has one writer; any number may read.
"""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from gaelp.clock import Clock
from gaelp.config.places import shown
from gaelp.errors import BadInput, DataError, GaelpError
from gaelp.training.checkpoint import DRAFT_PREFIX, Checkpoint, Header, check_config, load, save, sync_folder

__all__ = ["CheckpointFolder", "Latest", "RefusedFile", "latest_good"]

_SUFFIX, _BEST_SUFFIX = ".safetensors", ".best"
_NAME = re.compile(r"(\d{6,12})-step-(\d{1,18})\.safetensors", re.ASCII)
_HASH = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class RefusedFile:
    """A checkpoint that cannot be used, and why."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True)
class Latest:
    """The newest whole checkpoint, None if there is none, and the newer ones that were refused, newest first."""

    checkpoint: Checkpoint | None
    refused: tuple[RefusedFile, ...]


@dataclass(frozen=True, slots=True, order=True)
class _Entry:
    serial: int
    step: int
    path: Path

    @classmethod
    def of(cls, path: Path) -> Self | None:
        name = _NAME.fullmatch(path.name)
        return cls(int(name[1]), int(name[2]), path) if name else None

    @property
    def mark(self) -> Path:
        """The file that marks this checkpoint as a best one."""
        return self.path.with_suffix(_BEST_SUFFIX)


def latest_good(folder: Path) -> Latest:
    """The newest checkpoint of a folder that is whole, and those newer than it with the reason each was refused."""
    return _latest(reversed(_entries(folder)))


class CheckpointFolder:
    """Saves and loads the checkpoints of one run, all written under one configuration."""

    def __init__(self, folder: Path, *, config_hash: str, clock: Clock, keep: int = 3) -> None:
        """Nothing is read or written yet; `keep` is how many of the newest stay, besides those marked as best."""
        if keep < 1:
            raise BadInput(f"keep={keep}: at least 1 checkpoint has to be kept, 2 or more survive a damaged one")
        if not _HASH.fullmatch(config_hash):
            raise BadInput(f"config_hash={config_hash!r}: give the 64 hex digits that fingerprint() returns")
        self._folder = folder
        self._config_hash = config_hash
        self._clock = clock
        self._keep = keep

    @property
    def paths(self) -> tuple[Path, ...]:
        """The checkpoints that are there, oldest first; whether they are whole shows when they are loaded."""
        return tuple(entry.path for entry in _entries(self._folder))

    @property
    def best_paths(self) -> tuple[Path, ...]:
        """Those marked as best, oldest first."""
        return tuple(entry.path for entry in _entries(self._folder) if entry.mark.exists())

    def save(self, state: object, step: int, *, best: bool = False) -> Path:
        """Write the state; only when it is safe on disk are older checkpoints deleted. Returns the new file."""
        if type(step) is not int or not 0 <= step < 10**18:
            raise BadInput(f"step={step!r}: give a whole number from 0 to below 10**18")
        entries = _entries(self._folder)
        serial = entries[-1].serial + 1 if entries else 1
        entry = _Entry(serial, step, self._folder / f"{serial:06}-step-{step}{_SUFFIX}")
        header = Header(serial=serial, step=step, config_hash=self._config_hash, created_at=self._clock.now())
        self._delete_drafts()
        # Before the checkpoint: killed in between, a mark without one stays, never a best one without its mark.
        self._set_mark(entry, best=best)
        save(entry.path, state, header)
        self._delete_old()
        return entry.path

    def load(self, path: Path, *, allow_other_config: bool = False) -> Checkpoint:
        """Read one checkpoint of the folder; if it is damaged, the error offers the newest whole one before it."""
        entry = self._entry(path)
        try:
            checkpoint = _load_entry(entry)
        except DataError as problem:
            before = _latest(reversed([other for other in _entries(self._folder) if other < entry])).checkpoint
            offer = f"is {before.path.name}" if before else "does not exist"
            raise DataError(f"{problem} The newest whole one before it {offer}.") from problem
        return self._checked(checkpoint, allow_other_config=allow_other_config)

    def load_latest(self, *, allow_other_config: bool = False) -> Latest:
        """The newest whole checkpoint and the newer ones that were refused; no checkpoint if none was ever saved.

        If there are checkpoints and none is whole, that is an error: starting over would hide the loss.
        """
        latest = latest_good(self._folder)
        if latest.checkpoint is not None:
            self._checked(latest.checkpoint, allow_other_config=allow_other_config)
        elif latest.refused:
            reasons = "\n".join(refused.reason for refused in latest.refused)
            raise DataError(
                f"none of the {len(latest.refused)} checkpoints in {shown(self._folder)} is whole: restore one from a"
                f" copy, or start again in another folder.\n{reasons}"
            )
        return latest

    def unmark_best(self, path: Path) -> None:
        """Treat a checkpoint like any other again; the next save may delete it."""
        self._set_mark(self._entry(path), best=False)

    def _entry(self, path: Path) -> _Entry:
        entries = _entries(self._folder)
        same_folder = path.parent.resolve() == self._folder.resolve()
        for entry in entries if same_folder else ():
            if entry.path.name == path.name:
                return entry
        names = ", ".join(entry.path.name for entry in entries) or "none"
        raise BadInput(f"{shown(path)} is no checkpoint of {shown(self._folder)}; there are: {names}")

    def _checked(self, checkpoint: Checkpoint, *, allow_other_config: bool) -> Checkpoint:
        if not allow_other_config:
            check_config(checkpoint, self._config_hash)
        return checkpoint

    def _set_mark(self, entry: _Entry, *, best: bool) -> None:
        with _file_errors(f"{shown(entry.mark)} cannot be written or deleted, earlier checkpoints are untouched"):
            if best:
                self._folder.mkdir(parents=True, exist_ok=True)
                entry.mark.touch()
                sync_folder(self._folder)
            else:
                entry.mark.unlink(missing_ok=True)

    def _delete_drafts(self) -> None:
        """Delete what killed saves left, before the next save needs the space."""
        with _file_errors(f"what an interrupted save left in {shown(self._folder)} cannot be deleted"):
            for draft in self._folder.glob(f"{DRAFT_PREFIX}*"):
                shutil.rmtree(draft)

    def _delete_old(self) -> None:
        entries = _entries(self._folder)
        with _file_errors(f"{shown(entries[-1].path)} is saved, but older files beside it cannot be deleted"):
            for entry in entries[: -self._keep]:
                if not entry.mark.exists():
                    entry.path.unlink(missing_ok=True)
            for mark in self._folder.glob(f"*-step-*{_BEST_SUFFIX}"):
                if not mark.with_suffix(_SUFFIX).exists():
                    mark.unlink(missing_ok=True)


@contextmanager
def _file_errors(failure: str) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        raise GaelpError(f"{failure}: {reason}. Free space, or make the folder writable.") from problem


def _entries(folder: Path) -> list[_Entry]:
    """The checkpoints of a folder by their names, oldest first."""
    try:
        paths = sorted(folder.iterdir()) if folder.exists() else []
    except OSError as problem:
        raise DataError(f"{shown(folder)} cannot be listed: {problem.strerror}. Name a readable folder.") from problem
    return sorted(entry for path in paths if (entry := _Entry.of(path)))


def _latest(newest_first: Iterator[_Entry]) -> Latest:
    refused: list[RefusedFile] = []
    for entry in newest_first:
        try:
            return Latest(_load_entry(entry), tuple(refused))
        except DataError as problem:
            refused.append(RefusedFile(entry.path, str(problem)))
    return Latest(None, tuple(refused))


def _load_entry(entry: _Entry) -> Checkpoint:
    """Read a checkpoint whose name and header agree: a renamed one would pass for newer or older than it is."""
    checkpoint = load(entry.path)
    header = checkpoint.header
    if (header.serial, header.step) != (entry.serial, entry.step):
        raise DataError(
            f"{shown(entry.path)} is refused: it was written as serial {header.serial} of step {header.step}."
            " Give it its own name back."
        )
    return checkpoint
