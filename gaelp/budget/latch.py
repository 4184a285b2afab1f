"""The latch: a file whose existence means stop. It needs no database, no lock and no running process."""

import json
import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path

from gaelp.errors import GaelpError

__all__ = ["LATCH_NAME", "Latch", "StopRecord", "plain_reason"]

LATCH_NAME = "STOPPED"  # below the home folder
_MAX_RECORD_BYTES = 100_000
_MAX_REASON_CHARACTERS = 2000  # at most 12 bytes each in a record
_MAX_EARLIER, _MAX_EARLIER_CHARACTERS = 8, 500  # so that a record stays far below its limit
# Characters that mails and databases refuse: control characters and lone surrogates.
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def plain_reason(text: str) -> str:
    """Make a reason a single printable line; a long one is cut, because no stop is refused."""
    return _UNPRINTABLE.sub("\ufffd", " ".join(text.split()))[:_MAX_REASON_CHARACTERS]


@dataclass(frozen=True, slots=True)
class StopRecord:
    """One stop; an approval of its release names its `id`. `earlier` are the stops that it found in force."""

    id: str
    at: str  # ISO 8601, UTC
    by: str
    reason: str
    earlier: tuple["StopRecord", ...] = ()  # the first one first, each without earlier ones of its own

    def after(self, before: "StopRecord | None") -> "StopRecord":
        """This stop, made while `before` was in force; of many earlier ones, the first and the latest are kept."""
        if before is None:
            return self
        if before.id == self.id:
            return before
        reason = before.reason[:_MAX_EARLIER_CHARACTERS]
        first, *later = (*before.earlier, replace(before, reason=reason, earlier=()))
        return replace(self, earlier=(first, *later[-(_MAX_EARLIER - 1) :]))

    def as_json(self) -> str:
        """Serialise to a single line for `from_json`."""
        values = asdict(self)
        if not self.earlier:  # as it was before earlier stops were kept
            del values["earlier"]
        for stop in values.get("earlier", ()):
            del stop["earlier"]
        return json.dumps(values, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "StopRecord":
        """Parse a record; raise ValueError for anything else."""
        values = json.loads(text)
        earlier = values.pop("earlier", []) if isinstance(values, dict) else []
        stops = earlier if isinstance(earlier, list) else [earlier]
        return replace(_parsed(values), earlier=tuple(map(_parsed, stops)))


def _parsed(values: object) -> StopRecord:
    if not isinstance(values, dict) or not all(isinstance(value, str) for value in values.values()):
        raise ValueError("not the record of a stop")
    try:
        record = StopRecord(**values)
    except TypeError as error:
        raise ValueError("not the record of a stop") from error
    datetime.fromisoformat(record.at)
    return record


@dataclass(frozen=True, slots=True)
class Latch:
    """Set while anything exists at `path`, and while that cannot be determined."""

    path: Path

    def is_set(self) -> bool:
        """Whether spending is stopped; True if in doubt."""
        try:
            os.lstat(self.path)
        except FileNotFoundError:
            # The folder may be missing with the file in it: only an existing folder without the file means go.
            return not self.path.parent.is_dir()
        except OSError:
            return True
        return True

    def is_there(self) -> bool:
        """Whether something exists at the path, which stops everybody who uses this folder; False if in doubt."""
        try:
            os.lstat(self.path)
        except OSError:
            return False
        return True

    def set(self, record: StopRecord, when_there: Callable[[], None] = lambda: None) -> None:
        """Stop: once the file is created, every check of the latch says so, even after a crash.

        `when_there` is called at that point, because a slow disk may need long for the rest. The folder is never
        created: a missing one is not the one that the spenders check.
        """
        try:
            # An empty file first: it only has to exist, and it takes no room on a full disk.
            os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
            when_there()
            _sync_folder(self.path.parent)
        except OSError as problem:
            if not self.is_there():
                raise GaelpError(self._why_it_cannot_be_set(problem)) from problem
        # Who and why is useful, but the stop must work without it.
        with suppress(OSError):
            self._write(record.after(self._stop_in_force()))

    def read(self) -> StopRecord | None:
        """The record of the stop; None if the latch is not set; raises if it is set and cannot be read."""
        if not self.is_set():
            return None
        try:
            with self.path.open("rb") as file:
                return StopRecord.from_json(file.read(_MAX_RECORD_BYTES).decode())
        except (OSError, ValueError) as error:
            raise GaelpError(self._why_it_cannot_be_read(error)) from error

    def clear(self, stop_id: str) -> None:
        """Remove the latch of this stop; a later stop is kept."""
        record = self.read()
        if record is None:
            return
        if record.id != stop_id:
            raise GaelpError(
                f"the latch {self.path} belongs to the stop {record.id}, not {stop_id}: approve its release"
            )
        self.path.unlink()
        _sync_folder(self.path.parent)

    def _stop_in_force(self) -> StopRecord | None:
        """The record before this one; None if there is none that can be read."""
        try:
            return self.read()
        except GaelpError:
            return None

    def _why_it_cannot_be_set(self, problem: OSError) -> str:
        home = self.path.parent
        if isinstance(problem, FileNotFoundError | NotADirectoryError):
            return f"there is no folder {home}: set GAELP_HOME to the folder that the spenders use, then stop again"
        reason = problem.strerror or type(problem).__name__
        return (
            f"{self.path} cannot be created ({reason}): stop again as a user who may write to {home}, or set GAELP_HOME"
            " if the spenders use another folder"
        )

    def _why_it_cannot_be_read(self, error: Exception) -> str:
        home = self.path.parent
        if isinstance(error, FileNotFoundError | NotADirectoryError) and not self.is_there():
            return (
                f"there is no folder {home}, so the state of the latch is unknown, which counts as stopped: restore the"
                " folder (is its disk mounted?), or set GAELP_HOME to the folder that the spenders use"
            )
        if isinstance(error, IsADirectoryError):
            return (
                f"the latch {self.path} is a folder, which stops but holds no record, so its release cannot be"
                f" approved: remove it and stop again at once (`rm -r {self.path}; gaelp kill`), then release that stop"
            )
        return (
            f"the latch {self.path} is set but holds no readable record ({type(error).__name__}), so its release"
            " cannot be approved: pull the kill switch again, which writes a new record, then release that stop"
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
    """Sync a new or removed file name to disk, so that a power cut cannot undo it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
