"""The kill switch: a latch file, a fence in the ledger's database, a pause on the platform; any one of them stops.

`begin` tries all three in parallel for a bounded time; slower parts continue in the background, and `wait` reports how
they end. The latch takes milliseconds and depends on nothing else. `release` calls a function that checks the approval
of exactly the stops in force: a stop made meanwhile stays in force.
"""

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from gaelp.budget.latch import Latch, StopRecord, plain_reason
from gaelp.budget.ledger import Ledger, LedgerUnavailable, lower_fence, raise_fence, read_fence
from gaelp.checks.raised import in_words
from gaelp.clock import Clock, SystemClock
from gaelp.config.base import Frozen
from gaelp.errors import GaelpError

__all__ = [
    "Fence",
    "KillSwitch",
    "PartReport",
    "StopReport",
    "StopState",
    "as_stop_failure",
    "fence_at",
    "fence_of",
]

# Together well below the second in which a stop has to be done.
_PARTS_WAIT_SECONDS = 0.4
# A grant that has just checked the latch is a few instructions from returning: let it finish.
_SETTLE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Fence:
    """The flag inside the database, as three functions; `lower` returns False if another stop is in force."""

    read: Callable[[], StopRecord | None]
    raise_: Callable[[StopRecord], None]
    lower: Callable[[str], bool]


def fence_of(ledger: Ledger) -> Fence:
    """The fence of an open ledger."""

    def raise_(record: StopRecord) -> None:
        with as_stop_failure():
            raise_fence(ledger, record)

    return Fence(lambda: read_fence(ledger), raise_, lambda stop_id: lower_fence(ledger, stop_id))


def fence_at(open_it: Callable[[], Ledger]) -> Fence:
    """The fence of a ledger that is opened for each use, so that an unreachable database affects nothing else."""

    def read() -> StopRecord | None:
        with _opened(open_it) as fence:
            return fence.read()

    def raise_(record: StopRecord) -> None:
        with as_stop_failure(), _opened(open_it) as fence:
            fence.raise_(record)

    def lower(stop_id: str) -> bool:
        with _opened(open_it) as fence:
            return fence.lower(stop_id)

    return Fence(read, raise_, lower)


@contextmanager
def _opened(open_it: Callable[[], Ledger]) -> Iterator[Fence]:
    ledger = open_it()
    try:
        yield fence_of(ledger)
    finally:
        ledger.close()


@contextmanager
def as_stop_failure(did_not: str = "take it") -> Iterator[None]:
    """Raise LedgerUnavailable without its "no money is granted", which could be mistaken for a successful stop."""
    try:
        yield
    except LedgerUnavailable as problem:
        cause = str(getattr(problem.__cause__, "orig", None) or problem.__cause__ or problem).strip()
        first_line = next(iter(cause.splitlines()), type(problem).__name__)
        raise GaelpError(f"the ledger's database did not {did_not} ({first_line})") from problem


class PartReport(Frozen):
    """The outcome of one of the three ways to stop."""

    name: Literal["latch", "fence", "pause"]
    outcome: Literal["done", "failed", "still trying", "none"]
    detail: str = ""


class StopReport(Frozen):
    """The result of a stop."""

    stop_id: str
    stopped: bool  # no grant can be made here any more; a pause alone does not prevent new grants
    complete: bool  # every part that is connected is done
    seconds: float  # until the first report
    parts: tuple[PartReport, ...]

    def outcome(self, name: str) -> str:
        """The outcome of one part."""
        return next(part.outcome for part in self.parts if part.name == name)

    def describe_parts(self) -> str:
        """Every part and its outcome, in one line."""
        return "; ".join(f"{part.name}: {part.outcome} {part.detail}".strip() for part in self.parts)

    @property
    def is_trying(self) -> bool:
        """Whether a part is still trying."""
        return any(part.outcome == "still trying" for part in self.parts)


@dataclass(frozen=True, slots=True)
class StopState:
    """What is in force: the stop of the latch, and the one in the database."""

    latch: StopRecord | None
    fence: StopRecord | None

    @property
    def is_stopped(self) -> bool:
        """Whether either of them is in force."""
        return self.latch is not None or self.fence is not None

    @property
    def stops(self) -> tuple[StopRecord, ...]:
        """Every stop since spending was last allowed, the first one first."""
        records = [record for record in (self.latch, self.fence) if record is not None]
        every = {stop.id: stop for record in records for stop in (*record.earlier, record)}
        return tuple(sorted(every.values(), key=lambda stop: (stop.at, stop.id)))

    @property
    def stop_ids(self) -> tuple[str, ...]:
        """The ids that an approval of the release must name."""
        return tuple(sorted({record.id for record in (self.latch, self.fence) if record is not None}))


class KillSwitch:
    """Stops all spending, and allows it again only with an approval.

    Without a fence, `why_no_fence` says why a stop is incomplete; empty if no fence is needed.
    """

    def __init__(
        self,
        latch: Latch,
        *,
        fence: Fence | None = None,
        pause: Callable[[], None] | None = None,
        clock: Clock | None = None,
        why_no_fence: str = "",
    ) -> None:
        self._latch, self._fence, self._pause = latch, fence, pause
        self._clock = clock or SystemClock()
        self._no_fence = (lambda: _fail(why_no_fence)) if why_no_fence else None
        self._parts: tuple[_Part, ...] = ()
        self._stop_id, self._seconds, self._latch_is_there = "", 0.0, threading.Event()

    def is_stopped(self) -> bool:
        """Whether spending is stopped; a state that cannot be read counts as stopped."""
        if self._latch.is_set():
            return True
        try:
            return self._fence is not None and self._fence.read() is not None
        except Exception:  # noqa: BLE001 - an unknown state means stopped, whatever the cause
            return True

    def stop(self, *, by: str, reason: str) -> StopReport:
        """Stop: after this returns, no grant is given; raises only if neither latch nor fence is set."""
        report = self.begin(by=by, reason=reason)
        if not report.stopped:
            parts = report.describe_parts()
            raise GaelpError(f"NOT STOPPED ({parts}): pause the campaigns on the platform by hand, now")
        return report

    def begin(self, *, by: str, reason: str) -> StopReport:
        """Stop, and report what is done within half a second; the rest continues, and `wait` reports its end.

        If the report says stopped, no grant is given any more.
        """
        began = time.monotonic()
        record = StopRecord(uuid.uuid4().hex, self._clock.now().isoformat(), by, plain_reason(reason))
        fence, self._stop_id = self._fence, record.id
        self._latch_is_there = there = threading.Event()
        self._parts = (
            _Part("latch", lambda: self._latch.set(record, there.set)),
            _Part("fence", self._no_fence if fence is None else lambda: fence.raise_(record)),
            _Part("pause", self._pause),
        )
        reached = self.wait(_PARTS_WAIT_SECONDS)
        if reached.outcome("latch") == "done" and not self._latch.is_set():
            self._latch.set(record)  # a concurrent release has removed it
        self._seconds = time.monotonic() - began
        return reached.model_copy(update={"seconds": self._seconds})

    def wait(self, seconds: float) -> StopReport:
        """Wait up to `seconds` for the parts of the last stop that are still trying, and report them.

        The latch stops this machine. Spenders on other machines are stopped once the fence is reported as done.
        """
        until = time.monotonic() + seconds
        for part in self._parts:
            part.wait(until)
        report = self.report()
        time.sleep(_SETTLE_SECONDS)
        return report

    def report(self) -> StopReport:
        """The current outcome of each part of the last stop, without reading disk or database; empty before a stop."""
        parts = tuple(part.report() for part in self._parts)
        stops = [part.outcome for part in parts if part.name in ("latch", "fence")]
        return StopReport(
            stop_id=self._stop_id,
            # A latch that exists but is not yet synced to disk stops as well.
            stopped="done" in stops or self._latch_is_there.is_set(),
            complete=bool(parts) and all(part.outcome in ("done", "none") for part in parts),
            seconds=self._seconds,
            parts=parts,
        )

    def state(self) -> StopState:
        """What is in force; raises with the remedy if it cannot be read."""
        return StopState(self._latch.read(), self._fence.read() if self._fence else None)

    def release(self, authorise: Callable[[StopState], None]) -> StopState:
        """Allow spending again if `authorise` does not raise; return what was released.

        `authorise` gets the stops in force. The fence is lowered first: if the database is away, the latch stays.
        """
        state = self.state()
        if not state.is_stopped:
            return state
        authorise(state)
        if self._fence is not None and not self._fence.lower(state.fence.id if state.fence else ""):
            raise GaelpError("another stop was made while this one was being released: approve the release of that one")
        if state.latch is not None:
            self._latch.clear(state.latch.id)
        return state


def _fail(why: str) -> None:
    raise GaelpError(why)


class _Part:
    """One way to stop, tried in its own thread so that it cannot delay the others."""

    def __init__(self, name: Literal["latch", "fence", "pause"], act: Callable[[], None] | None) -> None:
        self._name, self._act, self._error = name, act, ""
        # Not `Thread.join`: after Ctrl-C interrupts it, the thread may report itself as finished.
        self._ended = threading.Event()
        if act is None:
            self._ended.set()
            return
        try:
            threading.Thread(target=self._run, name=f"kill-switch-{name}", daemon=True).start()
        except RuntimeError:  # a machine that cannot start threads must still stop
            self._run()

    def wait(self, until: float) -> None:
        self._ended.wait(max(0.0, until - time.monotonic()))

    def report(self) -> PartReport:
        if self._act is None:
            return PartReport(name=self._name, outcome="none", detail="not connected")
        if not self._ended.is_set():
            return PartReport(name=self._name, outcome="still trying")
        if self._error:
            return PartReport(name=self._name, outcome="failed", detail=self._error)
        return PartReport(name=self._name, outcome="done")

    def _run(self) -> None:
        try:
            if self._act is not None:
                self._act()
        except GaelpError as error:
            self._error = str(error) or type(error).__name__
        except BaseException as error:  # noqa: BLE001 - any error goes into the report, and the other parts continue
            self._error = in_words(error)
        self._ended.set()
