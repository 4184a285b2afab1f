"""The folder of a store: each append is one folder of Parquet files, and a single rename commits it.

    commits/<time>-<random>/<table>/day=2026-01-31.parquet   what is stored
    staging/<random>/...                                     what a writer has not committed yet
    staging/<random>.lock                                    locked by that writer; unlocked means that it died
    commit.lock, files.lock, staging.lock

A rename of one folder is atomic, so the files of all tables appear together or not at all, also to a query that reads
`commits/*/<table>/*.parquet` directly, and no recovery is needed after a crash. A catalog in a database would need a
second step that moves files, and a recovery for a crash between the two.

A commit that merges others names them in a file `replaces`; they no longer count and are deleted afterwards.
"""

import os
import shutil
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import date
from pathlib import Path

from gaelp.errors import GaelpError
from gaelp.storage.file_lock import file_locked, is_locked
from gaelp.storage.schema import TableName

__all__ = ["CommitFolder", "Staged", "sync_folder"]

_DAY, _SUFFIX = "day=", ".parquet"
_REPLACES, _MERGED = "replaces", "-merged"


class Staged:
    """A folder in which one append is prepared."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def file(self, table: TableName, day: date) -> Path:
        """Return the path for the rows of a table and day; its folder exists."""
        folder = self.path / table
        folder.mkdir(exist_ok=True)
        return folder / f"{_DAY}{day.isoformat()}.parquet"


class CommitFolder:
    """The committed files of a store, its locks, and what writers have not committed yet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._commits, self._staging = folder / "commits", folder / "staging"
        try:
            for path in (self._commits, self._staging):
                path.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise GaelpError(
                f"the episode store {folder} cannot be created ({problem.strerror}): check the rights of the folder,"
                " or set GAELP_HOME to another one"
            ) from problem

    @contextmanager
    def committing(self) -> Iterator[None]:
        """Keep other commits out."""
        with file_locked(self.folder / "commit.lock"):
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Keep files from being deleted; commits continue."""
        with file_locked(self.folder / "files.lock", shared=True):
            yield

    @contextmanager
    def deleting(self, wait_seconds: float = 120.0) -> Iterator[None]:
        """Keep commits and readers out; GaelpError if they take longer than `wait_seconds`."""
        with (
            file_locked(self.folder / "commit.lock", wait_seconds=wait_seconds),
            file_locked(self.folder / "files.lock", wait_seconds=wait_seconds),
        ):
            yield

    @contextmanager
    def staged(self) -> Iterator[Staged]:
        """Prepare an append in a folder of its own, deleted if it is not committed: after a kill by the next writer."""
        name = uuid.uuid4().hex
        path, lock = self._staging / name, self._staging / f"{name}.lock"
        with ExitStack() as held:
            with file_locked(self.folder / "staging.lock"):  # a new lock is never taken for that of a dead writer
                self._delete_leftovers()
                held.enter_context(file_locked(lock))
            held.callback(lock.unlink, missing_ok=True)
            held.callback(shutil.rmtree, path, ignore_errors=True)
            path.mkdir()
            yield Staged(path)

    def commit(self, staged: Staged, replaces: Sequence[str] = ()) -> None:
        """Make the staged files part of the store, in the place of other commits; call it while `committing`."""
        if replaces:
            with (staged.path / _REPLACES).open("w", encoding="ascii") as file:
                file.write("\n".join(replaces))
                file.flush()
                os.fsync(file.fileno())
        for folder in (*(path for path in staged.path.iterdir() if path.is_dir()), staged.path):
            sync_folder(folder)
        end = _MERGED if replaces else ""
        staged.path.rename(self._commits / f"{time.time_ns():020d}-{staged.path.name[:8]}{end}")
        sync_folder(self._commits)

    def names(self) -> list[str]:
        """Return the commits that count, oldest first."""
        names = sorted(entry.name for entry in os.scandir(self._commits))
        replaced = {old for name in names for old in self._replaced_by(name)}
        return [name for name in names if name not in replaced]

    def files(
        self, table: TableName, days: tuple[date, date] | None = None, names: Sequence[str] | None = None
    ) -> dict[date, list[Path]]:
        """Return the committed files of a table by day, in order; `days` are the first and the last one wanted."""
        by_day: dict[date, list[Path]] = {}
        for name in self.names() if names is None else names:
            with suppress(FileNotFoundError):
                for entry in os.scandir(self._commits / name / table):
                    day = date.fromisoformat(entry.name.removeprefix(_DAY).removesuffix(_SUFFIX))
                    if days is None or days[0] <= day <= days[1]:
                        by_day.setdefault(day, []).append(Path(entry.path))
        return dict(sorted(by_day.items()))

    def delete_replaced(self) -> None:
        """Delete the commits that a merged one replaces; call it while `deleting`."""
        for name in sorted(entry.name for entry in os.scandir(self._commits)):
            for old in self._replaced_by(name):
                shutil.rmtree(self._commits / old, ignore_errors=True)
            (self._commits / name / _REPLACES).unlink(missing_ok=True)

    def delete_empty(self) -> None:
        """Delete the commits whose last file was deleted; call it while `deleting`."""
        for name in self.names():
            for entry in (*os.scandir(self._commits / name), self._commits / name):
                with suppress(OSError):  # it has files
                    Path(entry).rmdir()

    def is_merged(self, name: str) -> bool:
        """Return whether a commit was merged from others."""
        return name.endswith(_MERGED)

    def size_bytes(self, name: str) -> int:
        """Return the size of a commit's files."""
        return sum(path.stat().st_size for path in (self._commits / name).glob(f"*/*{_SUFFIX}"))

    def _replaced_by(self, name: str) -> list[str]:
        if not name.endswith(_MERGED):
            return []
        try:
            return (self._commits / name / _REPLACES).read_text(encoding="ascii").split()
        except FileNotFoundError:
            return []

    def _delete_leftovers(self) -> None:
        """Delete what killed writers have left in the staging folder."""
        for lock in self._staging.glob("*.lock"):
            if not is_locked(lock):
                shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
                lock.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
