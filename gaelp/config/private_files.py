"""Folders and files that their owner alone may read: amounts and names are nobody else's business on the machine."""

import os
import stat
from contextlib import suppress
from pathlib import Path

__all__ = ["close_to_others", "make_private_file", "make_private_folder"]


def make_private_folder(path: Path) -> None:
    """Make the folder with mode 700 where there is none; one that is there keeps the rights it was given."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)


def close_to_others(path: Path) -> bool:
    """Take a folder that is ours from everybody else; False if there is nothing to do.

    What all users share (the root, and a folder with the sticky bit, as /tmp) stays open, whoever owns it.
    """
    try:
        seen = path.stat()
    except FileNotFoundError:
        return False
    is_shared = path == path.parent or bool(seen.st_mode & stat.S_ISVTX)
    if is_shared or seen.st_uid != os.getuid() or not seen.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        return False
    path.chmod(stat.S_IRWXU)
    return True


def make_private_file(path: Path) -> None:
    """Make an empty file with mode 600 where there is none; one that is there is not even opened.

    SQLite's locks belong to the process: to close a second opening of a database would drop them.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
