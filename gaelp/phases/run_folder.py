"""Where a run keeps its files: runs/ID/ for the run, runs/ID/<phase>/<attempt>/ for each attempt at a phase."""

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
from gaelp.types import Phase, RunId

__all__ = ["PhaseFolder", "RunFolder"]


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one run: how it was begun, with which settings, and the lock that one process holds."""

    home: Path
    run_id: RunId

    @property
    def path(self) -> Path:
        """Everything of this run."""
        return absolute(self.home) / "runs" / self.run_id

    @property
    def record(self) -> Path:
        """How the run was begun, and which process or deployment drives it."""
        return self.path / "run.json"

    @property
    def end(self) -> Path:
        """How the run ended, once it has."""
        return self.path / "end.json"

    @property
    def settings(self) -> Path:
        """The settings that the run was begun with; they hold until its end."""
        return self.path / "settings.json"

    def phase(self, phase: Phase, attempt: int = 1) -> "PhaseFolder":
        """The folder of one attempt at a phase."""
        return PhaseFolder(self, phase, attempt)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock the run while working on it: a second process is refused, and the lock ends with the process."""
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
        """The process that works on the run, None if none does; the entry of a killed process does not count."""
        if not (self.path / ".held").exists():
            return None
        with (self.path / ".held").open("a+", encoding="ascii") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.seek(0)
                return int(file.read() or 0) or None
        return None


@dataclass(frozen=True, slots=True)
class PhaseFolder:
    """The files of one attempt at a phase of a run."""

    run: RunFolder
    phase: Phase
    attempt: int = 1

    @property
    def run_id(self) -> RunId:
        """The run that the attempt belongs to."""
        return self.run.run_id

    @property
    def path(self) -> Path:
        """Everything of this attempt."""
        return self.run.path / self.phase / str(self.attempt)

    @property
    def checkpoints(self) -> Path:
        """What interrupted training resumes from."""
        return self.path / "checkpoints"

    @property
    def training_log(self) -> Path:
        """Every report of training, one JSON object a line."""
        return self.path / "training.jsonl"

    @property
    def details(self) -> Path:
        """Every figure of the phase, in the phase's own form, such as simulation.json."""
        return self.path / f"{self.phase}.json"

    @property
    def rules(self) -> Path:
        """The tuned rules, where a rule is the agent."""
        return self.path / "rules.yaml"

    @property
    def manifest(self) -> Path:
        """What the attempt was made of: seed, packages, machine, parameters."""
        return self.path / "manifest.json"

    @property
    def identity(self) -> Path:
        """What decides the exact parameters that training ends with."""
        return self.path / "identity.json"

    def result(self, extension: int = 0) -> Path:
        """What the attempt proved, the same form for every phase; one more file for each time it was extended."""
        return self.path / (f"result-{extension}.json" if extension else "result.json")

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
