"""Locks between processes: a file that one process locks alone or several share; a lock ends with its process."""

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gaelp.errors import GaelpError

__all__ = ["file_locked", "is_locked"]

_POLL_SECONDS = 0.005


@contextmanager
def file_locked(path: Path, *, shared: bool = False, wait_seconds: float = 120.0) -> Iterator[None]:
    """Hold the lock of a file; GaelpError if others hold it longer than `wait_seconds`."""
    deadline = time.monotonic() + wait_seconds
    with path.open("a", encoding="ascii") as file:
        while not _try_lock(file.fileno(), fcntl.LOCK_SH if shared else fcntl.LOCK_EX):
            if time.monotonic() > deadline:
                raise GaelpError(
                    f"{path} was locked by another process for {wait_seconds:g} s: wait for it to end, or find it with"
                    f" `fuser {path}`, then try again"
                )
            time.sleep(_POLL_SECONDS)
        yield


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock of a file."""
    with path.open("a", encoding="ascii") as file:
        return not _try_lock(file.fileno(), fcntl.LOCK_EX)


def _try_lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
