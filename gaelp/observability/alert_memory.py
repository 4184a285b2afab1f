"""Which alerts were sent, so that independent processes send each of them once.

A memory is locked while an alert is being sent. No problem with it silences an alert: a file that cannot be read is put
aside, what cannot be written is kept in this process, and a lock that is held too long is ignored. Each of these is
logged; at worst somebody is alerted twice.
"""

import fcntl
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from threading import RLock
from typing import Protocol

from pydantic import AwareDatetime, Field, NonNegativeFloat, NonNegativeInt, ValidationError

from gaelp.config.base import Frozen
from gaelp.config.places import shown
from gaelp.config.private_files import make_private_folder
from gaelp.config.write import write_models
from gaelp.database import DatabaseUnavailable
from gaelp.errors import BadInput, GaelpError
from gaelp.observability.alert import Alert, PendingAlert, Severity
from gaelp.observability.logs import get_logger

__all__ = [
    "AlertMemory",
    "AlertState",
    "FileMemory",
    "OwnMemory",
    "SentAlert",
    "SharedMemory",
    "StoredAlerts",
    "log_trouble",
]

_LOOK_AGAIN_SECONDS = 0.05

_Name = tuple[str, str]  # source and key


class SentAlert(Frozen):
    """When an alert was last sent, and how often it was raised again since."""

    severity: Severity
    at: AwareDatetime
    repeats: NonNegativeInt = 0
    once: bool = False  # never sent again, however long ago it was
    wait_minutes: NonNegativeFloat = 0  # of a trouble that lasts: until it is sent again


@dataclass
class AlertState:
    """All that a dispatcher remembers."""

    sent: dict[_Name, SentAlert] = field(default_factory=dict)
    sent_at: list[datetime] = field(default_factory=list)
    held_back: int = 0
    held_back_titles: list[str] = field(default_factory=list)
    pending: dict[_Name, PendingAlert] = field(default_factory=dict)
    missed: dict[str, list[Alert]] = field(default_factory=dict)  # by channel: what it did not take
    is_apart: bool = False  # begun while the stored one could not be reached; to be merged with it

    def take_in(self, other: "AlertState") -> None:
        """Add another state; of what both have the later counts, and unanswered alerts of either stay unanswered."""
        for name, sent in other.sent.items():
            if name not in self.sent or self.sent[name].at < sent.at:
                self.sent[name] = sent
        self.sent_at = sorted({*self.sent_at, *other.sent_at})
        self.held_back = max(self.held_back, other.held_back)
        self.held_back_titles = list(dict.fromkeys([*self.held_back_titles, *other.held_back_titles]))
        self.pending = other.pending | self.pending
        self.missed = other.missed | self.missed


class AlertMemory(Protocol):
    """Where a dispatcher keeps what it remembers."""

    def held(self, *, strict: bool = False) -> AbstractContextManager[AlertState]:
        """The state, for nobody else until the end of the block, and then kept.

        Strict: raise where it cannot be read, locked or stored. Otherwise continue without: an alert must be sent.
        """
        ...

    def keep(self, state: AlertState) -> None:
        """Keep a state that is held before its block ends."""
        ...

    def look(self) -> AlertState:
        """The state to read from, which nobody waits for; raises if it cannot be read."""
        ...


class OwnMemory:
    """The memory of one process."""

    def __init__(self) -> None:
        self._state = AlertState()
        self._lock = RLock()

    @contextmanager
    def held(self, *, strict: bool = False) -> Iterator[AlertState]:  # noqa: ARG002 - nothing can go wrong with it
        """The state, for one thread at a time."""
        with self._lock:
            yield self._state

    def keep(self, state: AlertState) -> None:
        """Nothing is to be done."""

    def look(self) -> AlertState:
        """The state as it is now."""
        with self._lock:
            return replace(self._state, pending=dict(self._state.pending))


class SharedMemory(ABC):
    """The memory of all processes that name the same file or database; where it is kept is up to the class below it."""

    def __init__(self) -> None:
        self._unsaved: AlertState | None = None  # what could not be written

    @contextmanager
    def held(self, *, strict: bool = False) -> Iterator[AlertState]:
        """The state, locked for threads and processes alike; written at the end, what raises included.

        Strict: a block that raises changes nothing.
        """
        with self._locked(strict=strict):
            if strict:
                state = self.look()
                yield state
                self._write_state(state)
                return
            state = self._read_or_start_empty()
            try:
                yield state
            finally:
                self.keep(state)

    def keep(self, state: AlertState) -> None:
        """Write the state; where that fails, this process remembers it until it works."""
        if state.is_apart:  # written as it is, it would replace what others have stored
            self._unsaved = state
            return
        try:
            self._write_state(state)
        except Exception as problem:  # noqa: BLE001 - whatever it is, it must not keep an alert from going out
            self._unsaved = state
            log_trouble("what was alerted is not kept for other processes", problem)

    def look(self) -> AlertState:
        """The state that is stored, none if there is none, with what could not be written."""
        stored = self._read()
        state = AlertState() if stored is None else stored.state()
        if self._unsaved is not None:
            state.take_in(self._unsaved)
        return state

    def _read_or_start_empty(self) -> AlertState:
        unknown = "what was alerted before is not known; some of it may be sent again"
        try:
            return self.look()
        except DatabaseUnavailable as problem:
            log_trouble(unknown, problem)
            return replace(self._unsaved or AlertState(), is_apart=True)
        except GaelpError as problem:
            log_trouble(unknown, problem)
        self._put_aside()
        return self._unsaved or AlertState()

    def _write_state(self, state: AlertState) -> None:
        self._write(StoredAlerts.of(state))
        self._unsaved = None

    @contextmanager
    def _locked(self, *, strict: bool) -> Iterator[None]:
        with ExitStack() as stack:
            try:
                stack.enter_context(self._lock())
            except (GaelpError, OSError) as problem:
                busy = isinstance(problem, GaelpError)
                what = f"the record of alerts {'is used without its lock' if busy else 'cannot be locked'}"
                if strict:
                    raise GaelpError(f"{what}: {problem}") from problem
                log_trouble(what, problem)
            yield

    @abstractmethod
    def _lock(self) -> AbstractContextManager[None]:
        """Keep everybody else out; raise GaelpError or OSError where that takes too long or cannot be done."""

    @abstractmethod
    def _read(self) -> "StoredAlerts | None":
        """What is stored; GaelpError if it cannot be read."""

    @abstractmethod
    def _write(self, stored: "StoredAlerts") -> None:
        """Store it whole; any error if that fails."""

    @abstractmethod
    def _put_aside(self) -> None:
        """Keep what cannot be read as evidence, so that the next write starts empty."""


class FileMemory(SharedMemory):
    """The memory of all processes that name the same file."""

    def __init__(self, path: Path, *, patience_seconds: float = 30.0) -> None:
        super().__init__()
        self._path, self._patience_seconds = path, patience_seconds

    def _read(self) -> "StoredAlerts | None":
        try:
            return StoredAlerts.model_validate_json(self._path.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as problem:
            reason = problem.strerror or type(problem).__name__
        except ValidationError as problem:
            reason = f"{problem.error_count()} values in it are not what this version writes"
        raise GaelpError(f"{shown(self._path)} cannot be read: {reason}. The next alert replaces it")

    def _put_aside(self) -> None:
        aside = self._path.with_suffix(".broken.json")
        try:
            self._path.replace(aside)
            log_trouble(f"the broken file is kept as {shown(aside)}", None)
        except OSError as problem:
            log_trouble("the broken file could not be put aside", problem)

    def _write(self, stored: "StoredAlerts") -> None:
        try:
            write_models({self._path: stored})
        except BadInput as problem:  # of a configuration file, which this is not
            raise GaelpError(str(problem)) from problem

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """Each opening of the file is a lock of its own, so threads wait for each other as processes do."""
        make_private_folder(self._path.parent)
        file = os.open(self._path.with_name(f".{self._path.name}.held"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if not self._wait_for(file):
                raise GaelpError(f"{shown(self._path)} has been held for {self._patience_seconds:g} s: try again")
            yield
        finally:
            os.close(file)

    def _wait_for(self, file: int) -> bool:
        given_up_at = time.monotonic() + self._patience_seconds
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= given_up_at:
                    return False
                time.sleep(_LOOK_AGAIN_SECONDS)
            else:
                return True


class _StoredSentAlert(SentAlert):
    source: str
    key: str


class StoredAlerts(Frozen):
    """The state as it is stored."""

    told: tuple[_StoredSentAlert, ...] = ()  # the key of files that exist
    sent_at: tuple[AwareDatetime, ...] = ()
    held_back: NonNegativeInt = 0
    held_back_titles: tuple[str, ...] = ()
    pending: tuple[PendingAlert, ...] = ()
    missed: dict[str, tuple[Alert, ...]] = Field(default_factory=dict)

    @classmethod
    def of(cls, state: AlertState) -> "StoredAlerts":
        """What is stored of a state."""
        return cls(
            told=tuple(
                _StoredSentAlert(source=source, key=key, **sent.model_dump())
                for (source, key), sent in state.sent.items()
            ),
            sent_at=tuple(state.sent_at),
            held_back=state.held_back,
            held_back_titles=tuple(state.held_back_titles),
            pending=tuple(state.pending.values()),
            missed={channel: tuple(alerts) for channel, alerts in state.missed.items()},
        )

    def state(self) -> AlertState:
        """The state that was stored."""
        return AlertState(
            sent={
                (stored.source, stored.key): SentAlert(**stored.model_dump(exclude={"source", "key"}))
                for stored in self.told
            },
            sent_at=list(self.sent_at),
            held_back=self.held_back,
            held_back_titles=list(self.held_back_titles),
            pending={waiting.alert.name: waiting for waiting in self.pending},
            missed={channel: list(alerts) for channel, alerts in self.missed.items()},
        )


def log_trouble(what: str, problem: Exception | None) -> None:
    """Log what is wrong with the memory."""
    get_logger("gaelp.alerts").error(what, reason=str(problem) if problem else None)
