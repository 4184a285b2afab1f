"""The local ad platform of one attempt: a process in a folder of the attempt, resumed where it was interrupted."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from gaelp.sandbox.control_client import SandboxHandle
from gaelp.sandbox.process_record import running_record
from gaelp.sandbox.sandbox_process import StartOptions
from gaelp.sandbox.spec import SandboxSpec
from gaelp.sandbox.start_process import start_sandbox

__all__ = ["running_local_platform"]

_ORPHAN_SECONDS = 30.0
_LOOK_SECONDS = 0.1


@contextmanager
def running_local_platform(folder: Path, world: SandboxSpec, *, not_before: datetime) -> Iterator[SandboxHandle]:
    """The platform while inside, its clock stopped; a new world first lets time pass to `not_before`.

    Its process ends with the block, or with this process if that is killed; the world is kept in the folder. One that
    another process uses is refused.
    """
    _await_orphan(folder)
    handle = start_sandbox(folder, StartOptions(spec=world, fronts=("google",), parent=os.getpid()))
    try:
        if handle.now() < not_before:
            handle.advance(not_before)
        yield handle
    finally:
        handle.stop()


def _await_orphan(folder: Path) -> None:
    """Wait for the process of an attempt that was killed: it ends by itself once it notices."""
    deadline = time.monotonic() + _ORPHAN_SECONDS
    while running_record(folder) is not None and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)
