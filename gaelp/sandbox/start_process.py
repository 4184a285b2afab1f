"""Start the process of a sandbox in the background, and stop it after use."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gaelp.config.private_files import make_private_file, make_private_folder
from gaelp.errors import BadInput, GaelpError
from gaelp.sandbox.control_client import SandboxHandle, connect_sandbox
from gaelp.sandbox.process_record import running_record
from gaelp.sandbox.sandbox_process import StartOptions, check_options

__all__ = ["LOG_NAME", "running_sandbox", "start_sandbox"]

LOG_NAME = "sandbox.log"
_START_SECONDS = 180.0
_LOOK_SECONDS = 0.05
_LOG_LINES = 12


def start_sandbox(folder: Path, options: StartOptions) -> SandboxHandle:
    """Start the sandbox of a folder in a process of its own, and wait until it answers."""
    if (record := running_record(folder)) is not None:
        raise BadInput(
            f"the sandbox in {folder} runs already (process {record.pid}): use it (`gaelp sandbox status`), or stop it"
            " first (`gaelp sandbox stop`)"
        )
    check_options(options)
    make_private_folder(folder)
    log = folder / LOG_NAME
    make_private_file(log)
    with log.open("ab") as output:
        begin = output.tell()
        process = subprocess.Popen(
            [sys.executable, "-m", "gaelp.sandbox.sandbox_process", str(folder)],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            start_new_session=True,  # Ctrl-C in the terminal is not for it
        )
    threading.Thread(target=process.wait, daemon=True).start()  # a child nobody waits for stays as a zombie
    if process.stdin is not None:
        with process.stdin as options_for_it:
            options_for_it.write(options.model_dump_json().encode())
    deadline = time.monotonic() + _START_SECONDS
    while (record := running_record(folder)) is None or record.pid != process.pid:
        if process.poll() is not None:
            raise _not_started(process.returncode, log, begin)
        if time.monotonic() > deadline:
            process.kill()
            raise GaelpError(f"the sandbox did not start in {_START_SECONDS:.0f} s: {log} says more")
        time.sleep(_LOOK_SECONDS)
    return connect_sandbox(folder)


@contextmanager
def running_sandbox(folder: Path, options: StartOptions | None = None) -> Iterator[SandboxHandle]:
    """A sandbox while inside, on free ports; it ends with the block, or with this process if that is killed."""
    given = options or StartOptions()
    handle = start_sandbox(folder, given.model_copy(update={"parent": os.getpid()}))
    try:
        yield handle
    finally:
        handle.stop()


def _not_started(code: int, log: Path, begin: int) -> GaelpError:
    """What the process said last, as bad input where it said so."""
    lines = log.read_bytes()[begin:].decode("utf-8", "replace").splitlines()
    said = next((line for line in reversed(lines) if line.startswith("error: ")), None)
    if said is not None:
        return (BadInput if code == BadInput.exit_code else GaelpError)(said.removeprefix("error: "))
    tail = "\n  ".join(lines[-_LOG_LINES:])
    return GaelpError(f"the sandbox ended while it started (exit code {code}); {log} ends with\n  {tail}")
