"""The latch: a file whose existence means stop. It needs no database, no lock and no running process."""

import json
import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from gaelp.errors import GaelpError

__all__ = ["LATCH_NAME", "Latch", "StopRecord", "plain_reason"]

LATCH_NAME = "STOPPED"  # below the home folder
_MAX_RECORD_BYTES = 100_000
_MAX_REASON_CHARACTERS = 2000  # at most 12 bytes each in a record
# What neither a mail nor a database takes: control characters, and halves of characters.
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def plain_reason(text: str) -> str:
    """A reason as one line that can be stored and sent anywhere; too long a one is cut, for no stop is refused."""
    return _UNPRINTABLE.sub("\ufffd", " ".join(text.split()))[:_MAX_REASON_CHARACTERS]


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

    def is_there(self) -> bool:
        """Whether something stands at the path, which stops everybody who uses this folder; a doubt is a no."""
        try:
            os.lstat(self.path)
        except OSError:
            return False
        return True

    def set(self, record: StopRecord, when_there: Callable[[], None] = lambda: None) -> None:
        """Stop: from the first line that succeeds on, every look at the latch says so, also after a crash.

        `when_there` is called then, for a slow disk may need long for the rest. The folder is never made: one that is
        not there is not the one that the spenders look into.
        """
        try:
            # An empty file first: existing is all it has to do, and that takes no room on a full disk.
            os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
            when_there()
            _sync_folder(self.path.parent)
        except OSError as problem:
            if not self.is_there():
                raise GaelpError(self._why_it_cannot_be_set(problem)) from problem
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
            raise GaelpError(self._why_it_cannot_be_read(error)) from error

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

    def _why_it_cannot_be_set(self, problem: OSError) -> str:
        home = self.path.parent
        if isinstance(problem, FileNotFoundError | NotADirectoryError):
            return f"there is no folder {home}: set GAELP_HOME to the folder that the spenders use, then stop again"
        reason = problem.strerror or type(problem).__name__
        return (
            f"{self.path} cannot be made ({reason}): stop again as a user who may write to {home}, or set GAELP_HOME if"
            " the spenders use another folder"
        )

    def _why_it_cannot_be_read(self, error: Exception) -> str:
        home = self.path.parent
        if isinstance(error, FileNotFoundError | NotADirectoryError) and not self.is_there():
            return (
                f"there is no folder {home}, so nobody can tell whether it is stopped, which counts as stopped: bring"
                " it back (is its disk mounted?), or set GAELP_HOME to the folder that the spenders use"
            )
        if isinstance(error, IsADirectoryError):
            return (
                f"the latch {self.path} is a folder, which stops but holds no record, so its release cannot be"
                f" approved: remove it and stop again in one go (`rm -r {self.path}; gaelp kill`), then release that"
            )
        return (
            f"the latch {self.path} is set but holds no record that can be read ({type(error).__name__}), so its"
            " release cannot be approved: pull the kill switch again, which writes a new record, then release that"
        )

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
