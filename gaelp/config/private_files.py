"""Folders and files that only their owner may read: amounts and names are private on a shared machine."""

import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

__all__ = ["close_to_others", "make_private_file", "make_private_folder", "read_or_create_private"]


def make_private_folder(path: Path) -> None:
    """Create the folder with mode 700; an existing one keeps its permissions."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)


def close_to_others(path: Path) -> bool:
    """Remove everybody else's permissions from a folder of ours; False if there is nothing to do.

    Folders that all users share (the root, and those with the sticky bit, such as /tmp) stay open.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        return False
    is_shared = path == path.parent or bool(status.st_mode & stat.S_ISVTX)
    if is_shared or status.st_uid != os.getuid() or not status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        return False
    path.chmod(stat.S_IRWXU)
    return True


def make_private_file(path: Path) -> None:
    """Create an empty file with mode 600; an existing one is not even opened.

    SQLite's locks belong to the process: closing a second handle of a database would drop them.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))


def read_or_create_private(path: Path, create: Callable[[], str]) -> str:
    """The text of a private file; where two processes create it at the same time, both get the same text."""
    if not path.exists():
        make_private_folder(path.parent)
        handle, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # mode 600
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(f"{create()}\n")
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(draft, path)
        Path(draft).unlink()
    return path.read_text(encoding="utf-8").strip()
