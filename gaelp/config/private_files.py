"""Folders and files that their owner alone may read: amounts and names are nobody else's business on the machine."""

import os
from contextlib import suppress
from pathlib import Path

__all__ = ["make_private_file", "make_private_folder"]


def make_private_folder(path: Path) -> None:
    """Make the folder with mode 700 where there is none; one that is there keeps the rights it was given."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)


def make_private_file(path: Path) -> None:
    """Make an empty file with mode 600 where there is none; one that is there is not even opened.

    SQLite's locks belong to the process: to close a second opening of a database would drop them.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
