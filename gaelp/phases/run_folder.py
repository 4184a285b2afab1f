"""Where one run keeps what: a folder of its own below the home."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from gaelp.config.places import absolute
from gaelp.errors import Refused
from gaelp.types import RunId

__all__ = ["RunFolder"]


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The files of one attempt at a run; the first lies in the run's own folder, later ones below it."""

    home: Path
    run_id: RunId
    attempt: int = 1

    @property
    def path(self) -> Path:
        """Everything of this attempt."""
        whole = absolute(self.home) / "runs" / self.run_id
        return whole if self.attempt == 1 else whole / f"attempt-{self.attempt}"

    @property
    def checkpoints(self) -> Path:
        """What training goes on from."""
        return self.path / "checkpoints"

    @property
    def training_log(self) -> Path:
        """Every report of training, one JSON object a line."""
        return self.path / "training.jsonl"

    @property
    def result(self) -> Path:
        """The figures that the first gate reads."""
        return self.path / "simulation.json"

    @property
    def manifest(self) -> Path:
        """What the run was made of."""
        return self.path / "manifest.json"

    @property
    def record(self) -> Path:
        """How the run was begun: what it was told, and by whom it is driven."""
        return self.path / "run.json"

    @property
    def identity(self) -> Path:
        """What decided the bits that training ends with."""
        return self.path / "identity.json"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the run while working on it: a second process is refused, and the hold ends with the process."""
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / ".held").open("a+", encoding="ascii") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as problem:
                raise Refused(
                    f"run {self.run_id!r} is at work in another process: wait for it, stop it, or begin another run"
                ) from problem
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            yield

    def holder(self) -> int | None:
        """The process that works on the run, None if none does: what a killed one wrote does not count."""
        if not (self.path / ".held").exists():
            return None
        with (self.path / ".held").open("a+", encoding="ascii") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.seek(0)
                return int(file.read() or 0) or None
        return None

    def log(self, kind: str, values: dict[str, Any]) -> None:
        """Add one line to the training log; a number that JSON does not have is refused."""
        self.path.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"report": kind, **values}, allow_nan=False).encode() + b"\n"
        with self.training_log.open("ab+") as file:
            if file.tell() and not _ends_a_line(file):  # a process was killed in the middle of its last one
                line = b"\n" + line
            file.write(line)


def _ends_a_line(file: BinaryIO) -> bool:
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"
