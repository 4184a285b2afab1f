"""The kill switch: a latch file, a fence in the ledger's database, a pause on the platform; any one of them stops.

`stop` tries all three side by side for a bounded time; what needs longer goes on in the background. The latch takes
milliseconds and needs nothing else. `release` needs an authorisation that is checked by a function from outside, and is
bound to the very stops that were seen: a stop that comes meanwhile stays in force.
"""

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from gaelp.budget.latch import Latch, StopRecord
from gaelp.budget.ledger import Ledger, lower_fence, raise_fence, read_fence
from gaelp.clock import Clock, SystemClock
from gaelp.config.base import Frozen
from gaelp.errors import GaelpError

__all__ = ["Fence", "KillSwitch", "PartReport", "StopReport", "StopState", "fence_at", "fence_of"]

# Together well below the second in which a stop has to be done.
_PARTS_WAIT_SECONDS = 0.4
# A grant that has looked at the latch for the last time is a few instructions from its caller: let it arrive.
_SETTLE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Fence:
    """The wall inside the database, as three functions; `lower` answers False if another stop stands there."""

    read: Callable[[], StopRecord | None]
    raise_: Callable[[StopRecord], None]
    lower: Callable[[str], bool]


def fence_of(ledger: Ledger) -> Fence:
    """The fence of an open ledger."""
    return Fence(
        read=lambda: read_fence(ledger),
        raise_=lambda record: raise_fence(ledger, record),
        lower=lambda stop_id: lower_fence(ledger, stop_id),
    )


def fence_at(open_it: Callable[[], Ledger]) -> Fence:
    """The fence of a ledger that is opened for each use, so that a database that is away harms nothing else."""

    def read() -> StopRecord | None:
        with _opened(open_it) as one:
            return one.read()

    def raise_(record: StopRecord) -> None:
        with _opened(open_it) as one:
            one.raise_(record)

    def lower(stop_id: str) -> bool:
        with _opened(open_it) as one:
            return one.lower(stop_id)

    return Fence(read, raise_, lower)


@contextmanager
def _opened(open_it: Callable[[], Ledger]) -> Iterator[Fence]:
    ledger = open_it()
    try:
        yield fence_of(ledger)
    finally:
        ledger.close()


class PartReport(Frozen):
    """What became of one of the three ways to stop."""

    name: Literal["latch", "fence", "pause"]
    outcome: Literal["done", "failed", "still trying", "none"]
    detail: str = ""


class StopReport(Frozen):
    """What a stop reached by the time it returned."""

    stop_id: str
    seconds: float
    parts: tuple[PartReport, ...]

    def outcome(self, name: str) -> str:
        """How one of the parts went."""
        return next(part.outcome for part in self.parts if part.name == name)

    @property
    def is_stopped(self) -> bool:
        """Whether no grant can be made here any more; the pause alone stops what is running, not what comes."""
        return "done" in (self.outcome("latch"), self.outcome("fence"))


@dataclass(frozen=True, slots=True)
class StopState:
    """What is in force: the stop the latch stands for, and the one in the database."""

    latch: StopRecord | None
    fence: StopRecord | None

    @property
    def is_stopped(self) -> bool:
        """Whether either of them stops."""
        return self.latch is not None or self.fence is not None

    @property
    def stop_ids(self) -> tuple[str, ...]:
        """The stops an approval of the release has to name."""
        return tuple(sorted({record.id for record in (self.latch, self.fence) if record is not None}))


class KillSwitch:
    """Stops all spending, and lets it go on again only when told so with authority."""

    def __init__(
        self,
        latch: Latch,
        *,
        fence: Fence | None = None,
        pause: Callable[[], None] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._latch, self._fence, self._pause = latch, fence, pause
        self._clock = clock or SystemClock()
        self._parts: tuple[_Part, ...] = ()

    def is_stopped(self) -> bool:
        """Whether spending stands still; what cannot be read counts as stopped."""
        if self._latch.is_set():
            return True
        try:
            return self._fence is not None and self._fence.read() is not None
        except Exception:  # noqa: BLE001 - whatever keeps us from knowing, not knowing means stopped
            return True

    def stop(self, *, by: str, reason: str) -> StopReport:
        """Stop: when this returns, no grant is given any more; it raises only if neither latch nor fence is set."""
        began = time.monotonic()
        record = StopRecord(uuid.uuid4().hex, self._clock.now().isoformat(), by, reason)
        fence = self._fence
        self._parts = (
            _Part("latch", lambda: self._latch.set(record)),
            _Part("fence", None if fence is None else lambda: fence.raise_(record)),
            _Part("pause", self._pause),
        )
        parts = self.wait(_PARTS_WAIT_SECONDS)
        if parts[0].outcome == "done" and not self._latch.is_set():
            self._latch.set(record)  # a release that crossed this stop has taken it away
        report = StopReport(stop_id=record.id, seconds=time.monotonic() - began, parts=parts)
        # A latch that is there but not yet synced to the disk stops as well.
        if not report.is_stopped and not self._latch.is_set():
            told = "; ".join(f"{part.name}: {part.outcome} {part.detail}".strip() for part in parts)
            raise GaelpError(f"NOT STOPPED ({told}): pause the campaigns on the platform by hand, now")
        return report

    def wait(self, seconds: float) -> tuple[PartReport, ...]:
        """Give the parts of the last stop that are still trying so much time, and tell how they stand.

        The latch stops this machine. Spenders on other machines have stopped when the fence is reported as done.
        """
        until = time.monotonic() + seconds
        for part in self._parts:
            part.wait(until)
        reports = tuple(part.report() for part in self._parts)
        time.sleep(_SETTLE_SECONDS)
        return reports

    def state(self) -> StopState:
        """What is in force, as far as it can be read; where it cannot, an error says how to go on."""
        return StopState(self._latch.read(), self._fence.read() if self._fence else None)

    def release(self, authorise: Callable[[StopState], None]) -> StopState:
        """Let spending go on, if `authorise` does not raise; returns what was released.

        It is given the stops in force. The fence is lowered first: if the database is away, the latch stays.
        """
        seen = self.state()
        if not seen.is_stopped:
            return seen
        authorise(seen)
        if self._fence is not None and not self._fence.lower(seen.fence.id if seen.fence else ""):
            raise GaelpError("another stop was made while this one was being released: approve the release of that one")
        if seen.latch is not None:
            self._latch.clear(seen.latch.id)
        return seen


class _Part:
    """One way to stop, tried in a thread of its own so that it cannot hold up the others."""

    def __init__(self, name: Literal["latch", "fence", "pause"], act: Callable[[], None] | None) -> None:
        self._name, self._act, self._error = name, act, ""
        self._thread = threading.Thread(target=self._run, name=f"kill-switch-{name}", daemon=True)
        if act is None:
            return
        try:
            self._thread.start()
        except RuntimeError:  # a machine out of threads still has to stop
            self._run()

    def wait(self, until: float) -> None:
        if self._thread.is_alive():
            self._thread.join(max(0.0, until - time.monotonic()))

    def report(self) -> PartReport:
        if self._act is None:
            return PartReport(name=self._name, outcome="none", detail="not connected")
        if self._thread.is_alive():
            return PartReport(name=self._name, outcome="still trying")
        if self._error:
            return PartReport(name=self._name, outcome="failed", detail=self._error)
        return PartReport(name=self._name, outcome="done")

    def _run(self) -> None:
        try:
            if self._act is not None:
                self._act()
        except Exception as error:  # noqa: BLE001 - whatever it is, the other parts go on and the report tells it
            self._error = f"{type(error).__name__}: {error}"
