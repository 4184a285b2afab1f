"""One archive with copies of all stores of a home, as of one moment, made while others write.

Writers are kept out of every store for the instant in which the readers begin; the copying then holds nobody up. The
archive is read back before it gets its name, and never replaces a file.
"""

import hashlib
import io
import json
import os
import sqlite3
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection

from gaelp.config.base import Frozen
from gaelp.database.commit_head import CommitHead, committed
from gaelp.database.database import Database
from gaelp.database.errors import DatabaseDamaged, DatabaseUnavailable
from gaelp.errors import BadInput, GaelpError

__all__ = ["MANIFEST", "Backup", "write_backup"]

MANIFEST = "backup.json"


class Backup(Frozen):
    """What an archive holds: the SHA-256 of each file, and how many transactions each store had committed."""

    at: datetime
    files: dict[str, str]
    commits: dict[str, int]


def write_backup(
    databases: Mapping[str, Database],
    others: Mapping[str, Path],
    target: Path,
    *,
    folders: Mapping[str, Path] | None = None,
) -> Backup:
    """Write copies of open SQLite databases, and other small files, to a new tar archive; names are as in the home.

    The files below `folders` are listed after that moment: what a record names is written before the record. Hidden
    ones are left out.
    """
    if target.exists():
        raise BadInput(f"{target} is there already, and a backup replaces nothing: name a new file")
    try:
        with tempfile.TemporaryDirectory(prefix=".gaelp-backup-", dir=target.parent) as folder:
            partial = Path(folder) / "archive.tar"
            backup = _write_archive(databases, others, folders or {}, Path(folder), partial)
            _read_back(partial, backup)
            _publish(partial, target)
    except OSError as problem:
        raise GaelpError(f"no backup was written to {target}: {problem.strerror or problem}") from problem
    return backup


def _write_archive(
    databases: Mapping[str, Database],
    others: Mapping[str, Path],
    folders: Mapping[str, Path],
    folder: Path,
    partial: Path,
) -> Backup:
    contents: dict[str, bytes] = {}
    commits: dict[str, int] = {}
    with _at_one_moment(list(databases.values())) as readers:
        for (name, database), reader in zip(databases.items(), readers, strict=True):
            copy = folder / "copy.db"
            commits[name] = _copy(database, reader, copy)
            contents[name] = copy.read_bytes()
            contents[f"{name}.head"] = CommitHead.text(commits[name])
            copy.unlink()
        contents |= {name: path.read_bytes() for name, path in (*others.items(), *_files_below(folders))}
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    backup = Backup(at=datetime.now(UTC), files=hashes, commits=commits)
    contents[MANIFEST] = json.dumps(backup.model_dump(mode="json"), indent=2).encode()
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        with tarfile.open(fileobj=file, mode="w") as archive:
            for name, content in contents.items():
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode, entry.mtime = len(content), 0o600, int(backup.at.timestamp())
                archive.addfile(entry, io.BytesIO(content))
        file.flush()
        os.fsync(file.fileno())
    return backup


def _files_below(folders: Mapping[str, Path]) -> Iterator[tuple[str, Path]]:
    for name, folder in folders.items():
        for path in sorted(folder.rglob("*")):
            parts = path.relative_to(folder).parts
            if path.is_file() and not any(part.startswith(".") for part in parts):
                yield "/".join((name, *parts)), path


@contextmanager
def _at_one_moment(databases: Sequence[Database]) -> Iterator[list[Connection]]:
    """A snapshot of each, all of the moment in which no one else could write to any of them."""
    with ExitStack() as snapshots:
        with ExitStack() as writers:
            for database in databases:
                writers.enter_context(database.writing())
            readers = [snapshots.enter_context(database.reading()) for database in databases]
            for reader in readers:
                committed(reader)  # the first statement fixes what it sees
        yield readers


def _copy(database: Database, reader: Connection, copy: Path) -> int:
    """Copy what a snapshot sees to a new file that is whole by itself; how many commits it has."""
    source = reader.connection.driver_connection
    if not isinstance(source, sqlite3.Connection):
        raise BadInput(f"{database.where} is no SQLite file: use the backup tool of that database")
    try:
        with closing(sqlite3.connect(copy, isolation_level=None)) as target:
            source.backup(target)
            target.execute("PRAGMA journal_mode=DELETE")
            problems = [row[0] for row in target.execute("PRAGMA quick_check(1)")]
    except sqlite3.Error as problem:
        raise DatabaseUnavailable(f"{database.where} cannot be copied: {problem}") from problem
    if problems != ["ok"]:
        raise DatabaseDamaged(f"{database.where} is damaged ({problems[0]}): no backup was written")
    return committed(reader)


def _read_back(partial: Path, backup: Backup) -> None:
    with tarfile.open(partial) as archive:
        written = {entry.name: archive.extractfile(entry) for entry in archive.getmembers()}
        hashes = {name: hashlib.sha256(file.read()).hexdigest() for name, file in written.items() if file}
    if {name: value for name, value in hashes.items() if name != MANIFEST} != backup.files:
        raise GaelpError(f"{partial} reads back otherwise than it was written: check the disk; no backup was written")


def _publish(partial: Path, target: Path) -> None:
    try:
        os.link(partial, target)  # unlike a rename, it replaces nothing
    except FileExistsError:
        raise BadInput(f"{target} is there already, and a backup replaces nothing: name a new file") from None
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
