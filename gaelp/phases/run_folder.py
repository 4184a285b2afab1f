"""Where one run keeps what: a folder of its own below the home."""

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gaelp.config.places import absolute, shown
from gaelp.errors import BadInput, Refused
from gaelp.types import RunId

__all__ = ["RunFolder", "run_ids"]


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The files of one run."""

    home: Path
    run_id: RunId

    @property
    def path(self) -> Path:
        """Everything of this run."""
        return _runs(self.home) / self.run_id

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

    def must_exist(self) -> None:
        """Refuse a run that was never begun."""
        if not self.path.is_dir():
            known = ", ".join(list(run_ids(self.home))[-5:]) or "none"
            raise BadInput(f"there is no run {self.run_id!r} in {shown(self.home)}; the newest are: {known}")

    def log(self, kind: str, values: dict[str, Any]) -> None:
        """Add one line to the training log; a number that JSON does not have becomes null."""
        self.path.mkdir(parents=True, exist_ok=True)
        with self.training_log.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"report": kind, **values}, allow_nan=False) + "\n")


def run_ids(home: Path) -> Iterator[RunId]:
    """The runs of a home, oldest first."""
    folder = _runs(home)
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.is_dir():
            yield RunId(path.name)


def _runs(home: Path) -> Path:
    return absolute(home) / "runs"
