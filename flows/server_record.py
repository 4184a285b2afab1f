"""What a home records about its Prefect server: which `gaelp up` is running, and which process is the server."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import psutil
from pydantic import ValidationError

from flows.environment import prefect_home
from gaelp.config.base import Frozen
from gaelp.config.write import write_models

__all__ = ["ServerProcess", "Up", "claimed", "forget_server", "known_api_url", "record_server", "running", "server"]


class Up(Frozen):
    """A running `gaelp up`."""

    pid: int
    api_url: str
    money_url: str  # of the emergency stop and the figures

    @property
    def ui_url(self) -> str:
        """Where a browser opens the same server."""
        return self.api_url.removesuffix("/api")


class ServerProcess(Frozen):
    """A server process started for this home, with its time of creation: process ids are reused."""

    pid: int
    created: float
    api_url: str

    @classmethod
    def of(cls, pid: int, api_url: str) -> Self:
        """The record of a process that was just started."""
        return cls(pid=pid, created=psutil.Process(pid).create_time(), api_url=api_url)

    def process(self) -> psutil.Process | None:
        """The process, if it is still alive."""
        try:
            process = psutil.Process(self.pid)
            alive = process.create_time() == self.created and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return None
        return process if alive else None


@contextmanager
def claimed(home: Path, api_url: str, money_url: str) -> Iterator[Up | None]:
    """Record this process as the home's `gaelp up`; None if another one is running. The claim ends with the process."""
    with _lock_file(home).open("a", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield None
            return
        up = Up(pid=os.getpid(), api_url=api_url, money_url=money_url)
        _up_file(home).write_text(up.model_dump_json(), encoding="utf-8")
        try:
            yield up
        finally:
            _up_file(home).unlink(missing_ok=True)


def running(home: Path) -> Up | None:
    """The `gaelp up` of this home, if one is running: the record of one that was killed does not count."""
    if not _lock_file(home).exists():
        return None
    with _lock_file(home).open("a", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return Up.model_validate(json.loads(_up_file(home).read_text(encoding="utf-8")))
    return None


def record_server(home: Path, process: ServerProcess) -> None:
    """Record the server process, so that the next `gaelp up` takes over what a killed one left running."""
    write_models({_server_file(home): process})


def server(home: Path) -> ServerProcess | None:
    """The recorded server process, if it is alive."""
    try:
        recorded = ServerProcess.model_validate_json(_server_file(home).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValidationError):  # a record without an address is of a server without a password
        return None
    return recorded if recorded.process() else None


def forget_server(home: Path) -> None:
    """Delete the record of a server that was stopped."""
    _server_file(home).unlink(missing_ok=True)


def known_api_url(home: Path) -> str | None:
    """The address of the server that serves this home, by `gaelp up` or left behind by one that was killed."""
    known = running(home) or server(home)
    return known.api_url if known else None


def _lock_file(home: Path) -> Path:
    return prefect_home(home) / "up.lock"


def _up_file(home: Path) -> Path:
    return prefect_home(home) / "up.json"


def _server_file(home: Path) -> Path:
    return prefect_home(home) / "server.json"
