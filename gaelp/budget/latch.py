"""The latch: a file whose existence means stop. It needs no database, no lock and no running process."""

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from gaelp.errors import GaelpError

__all__ = ["LATCH_NAME", "Latch", "StopRecord"]

LATCH_NAME = "STOPPED"  # below the home folder
_MAX_RECORD_BYTES = 100_000


@dataclass(frozen=True, slots=True)
class StopRecord:
    """One pull of the kill switch; `id` is what an approval of its release refers to."""

    id: str
    at: str  # ISO 8601, UTC
    by: str
    reason: str

    def as_json(self) -> str:
        """One line that `from_json` reads back."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "StopRecord":
        """Read a record back; anything else is a ValueError."""
        found = json.loads(text)
        if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
            raise ValueError("not the record of a stop")
        try:
            record = cls(**found)
        except TypeError as error:
            raise ValueError("not the record of a stop") from error
        datetime.fromisoformat(record.at)
        return record


@dataclass(frozen=True, slots=True)
class Latch:
    """Set while anything stands at `path`, and while it cannot be told whether something does."""

    path: Path

    def is_set(self) -> bool:
        """Whether money must stand still; every doubt is a yes."""
        try:
            os.lstat(self.path)
        except FileNotFoundError:
            # The folder may be gone too, with the file in it: only a folder that is there and has no file means go.
            return not self.path.parent.is_dir()
        except OSError:
            return True
        return True

    def set(self, record: StopRecord) -> None:
        """Stop: from the first line that succeeds on, every look at the latch says so, also after a crash."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # An empty file first: existing is all it has to do, and that takes no room on a full disk.
            os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
            _sync_folder(self.path.parent)
        except OSError:
            if not self.is_set():
                raise
        # Who and why is worth having, but a stop that cannot be explained is a stop all the same.
        with suppress(OSError):
            self._write(record)

    def read(self) -> StopRecord | None:
        """The record of the stop; nothing if the latch is not set, an error if it is and cannot be read."""
        if not self.is_set():
            return None
        try:
            with self.path.open("rb") as file:
                return StopRecord.from_json(file.read(_MAX_RECORD_BYTES).decode())
        except (OSError, ValueError) as error:
            raise GaelpError(
                f"the latch {self.path} is set but holds no record that can be read ({type(error).__name__}), so its"
                " release cannot be approved: pull the kill switch again, which writes a new record, then release that"
            ) from error

    def clear(self, stop_id: str) -> None:
        """Take away the latch of this one stop; a later stop is left standing."""
        record = self.read()
        if record is None:
            return
        if record.id != stop_id:
            raise GaelpError(
                f"the latch {self.path} now stands for the stop {record.id}, not {stop_id}: approve the release of that"
            )
        self.path.unlink()
        _sync_folder(self.path.parent)

    def _write(self, record: StopRecord) -> None:
        fresh = self.path.with_name(f".{self.path.name}.{record.id}")
        with fresh.open("w", encoding="utf-8") as file:
            file.write(record.as_json())
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self.path)  # the latch is never absent in between
        _sync_folder(self.path.parent)


def _sync_folder(folder: Path) -> None:
    """Put a new or removed name on the disk, where a power cut cannot undo it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
