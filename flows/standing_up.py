"""What `gaelp up` leaves behind for others while it runs: who serves, and where."""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from flows.environment import DEFAULT_API_URL, prefect_home
from gaelp.config.base import Frozen

__all__ = ["Up", "api_url_of", "standing", "who_is_up"]


class Up(Frozen):
    """A `gaelp up` at work."""

    pid: int
    api_url: str
    money_url: str  # of the emergency stop and the figures

    @property
    def ui_url(self) -> str:
        """Where a browser finds the same server."""
        return self.api_url.removesuffix("/api")


def _lock(home: Path) -> Path:
    return prefect_home(home) / "up.lock"


def _note(home: Path) -> Path:
    return prefect_home(home) / "up.json"


@contextmanager
def standing(home: Path, api_url: str, money_url: str) -> Iterator[Up | None]:
    """Hold the place while serving; None where another process holds it. The hold ends with the process."""
    with _lock(home).open("a", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield None
            return
        up = Up(pid=os.getpid(), api_url=api_url, money_url=money_url)
        _note(home).write_text(up.model_dump_json(), encoding="utf-8")
        try:
            yield up
        finally:
            _note(home).unlink(missing_ok=True)


def who_is_up(home: Path) -> Up | None:
    """The process that serves below this home, if one does: a note left by one that was killed does not count."""
    if not _lock(home).exists():
        return None
    with _lock(home).open("a", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return Up.model_validate(json.loads(_note(home).read_text(encoding="utf-8")))
    return None


def api_url_of(home: Path, environ: Mapping[str, str]) -> str:
    """The server that runs below this home talk to: the one named in the environment, the one that is up, or ours."""
    up = who_is_up(home)
    return environ.get("PREFECT_API_URL") or (up.api_url if up else DEFAULT_API_URL)
