"""Where one run keeps what: a folder of its own below the home."""

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gaelp.config.places import absolute
from gaelp.errors import Refused
from gaelp.types import RunId

__all__ = ["RunFolder"]


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The files of one run."""

    home: Path
    run_id: RunId

    @property
    def path(self) -> Path:
        """Everything of this run."""
        return absolute(self.home) / "runs" / self.run_id

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
    def identity(self) -> Path:
        """What decided the bits that training ends with."""
        return self.path / "identity.json"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the run while working on it: a second process is refused, and the hold ends with the process."""
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / ".held").open("w", encoding="ascii") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as problem:
                raise Refused(
                    f"run {self.run_id!r} is at work in another process: wait for it, stop it, or begin another run"
                ) from problem
            yield

    def log(self, kind: str, values: dict[str, Any]) -> None:
        """Add one line to the training log; a number that JSON does not have is refused."""
        self.path.mkdir(parents=True, exist_ok=True)
        with self.training_log.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"report": kind, **values}, allow_nan=False) + "\n")
