"""The kill switch: a latch file, a fence in the ledger's database, a pause on the platform; any one of them stops.

`begin` tries all three side by side for a bounded time; what needs longer goes on in the background, and `wait` tells
how it ends. The latch takes milliseconds and needs nothing else. `release` needs an authorisation that is checked by a
function from outside, and is bound to the very stops that were seen: a stop that comes meanwhile stays in force.
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
    "fence_at",
    "fence_of",
    "told_for_a_stop",
]

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

    def raise_(record: StopRecord) -> None:
        with told_for_a_stop():
            raise_fence(ledger, record)

    return Fence(lambda: read_fence(ledger), raise_, lambda stop_id: lower_fence(ledger, stop_id))


def fence_at(open_it: Callable[[], Ledger]) -> Fence:
    """The fence of a ledger that is opened for each use, so that a database that is away harms nothing else."""

    def read() -> StopRecord | None:
        with _opened(open_it) as one:
            return one.read()

    def raise_(record: StopRecord) -> None:
        with told_for_a_stop(), _opened(open_it) as one:
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


@contextmanager
def told_for_a_stop(did_not: str = "take it") -> Iterator[None]:
    """Without the ledger's "no money is granted": who stops would take that for the stop."""
    try:
        yield
    except LedgerUnavailable as problem:
        cause = str(getattr(problem.__cause__, "orig", None) or problem.__cause__ or problem).strip()
        first_line = next(iter(cause.splitlines()), type(problem).__name__)
        raise GaelpError(f"the ledger's database did not {did_not} ({first_line})") from problem


class PartReport(Frozen):
    """What became of one of the three ways to stop."""

    name: Literal["latch", "fence", "pause"]
    outcome: Literal["done", "failed", "still trying", "none"]
    detail: str = ""


class StopReport(Frozen):
    """What a stop has reached."""

    stop_id: str
    stopped: bool  # no grant can be made here any more; the pause alone stops what is running, not what comes
    complete: bool  # every part that is connected is done
    seconds: float  # until the first report
    parts: tuple[PartReport, ...]

    def outcome(self, name: str) -> str:
        """How one of the parts went."""
        return next(part.outcome for part in self.parts if part.name == name)

    @property
    def is_trying(self) -> bool:
        """Whether a part has yet to end."""
        return any(part.outcome == "still trying" for part in self.parts)


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
    """Stops all spending, and lets it go on again only when told so with authority.

    Where there is no fence, `why_no_fence` is why a stop is not complete without it; nothing if none is needed.
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
        """Whether spending stands still; what cannot be read counts as stopped."""
        if self._latch.is_set():
            return True
        try:
            return self._fence is not None and self._fence.read() is not None
        except Exception:  # noqa: BLE001 - whatever keeps us from knowing, not knowing means stopped
            return True

    def stop(self, *, by: str, reason: str) -> StopReport:
        """Stop: when this returns, no grant is given any more; it raises only if neither latch nor fence is set."""
        report = self.begin(by=by, reason=reason)
        if not report.stopped:
            told = "; ".join(f"{part.name}: {part.outcome} {part.detail}".strip() for part in report.parts)
            raise GaelpError(f"NOT STOPPED ({told}): pause the campaigns on the platform by hand, now")
        return report

    def begin(self, *, by: str, reason: str) -> StopReport:
        """Stop, and tell what is reached within half a second; the rest goes on, and `wait` tells its end.

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
            self._latch.set(record)  # a release that crossed this stop has taken it away
        self._seconds = time.monotonic() - began
        return reached.model_copy(update={"seconds": self._seconds})

    def wait(self, seconds: float) -> StopReport:
        """Give the parts of the last stop that are still trying so much time, and tell how they stand.

        The latch stops this machine. Spenders on other machines have stopped when the fence is reported as done.
        """
        until = time.monotonic() + seconds
        for part in self._parts:
            part.wait(until)
        report = self.report()
        time.sleep(_SETTLE_SECONDS)
        return report

    def report(self) -> StopReport:
        """How the parts of the last stop stand now, without a look at disk or database; none before the first stop."""
        parts = tuple(part.report() for part in self._parts)
        stops = [part.outcome for part in parts if part.name in ("latch", "fence")]
        return StopReport(
            stop_id=self._stop_id,
            # A latch that is there but not yet synced to the disk stops as well.
            stopped="done" in stops or self._latch_is_there.is_set(),
            complete=bool(parts) and all(part.outcome in ("done", "none") for part in parts),
            seconds=self._seconds,
            parts=parts,
        )

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


def _fail(why: str) -> None:
    raise GaelpError(why)


class _Part:
    """One way to stop, tried in a thread of its own so that it cannot hold up the others."""

    def __init__(self, name: Literal["latch", "fence", "pause"], act: Callable[[], None] | None) -> None:
        self._name, self._act, self._error = name, act, ""
        # Its own word, not the thread's: one whose `join` is interrupted by Ctrl-C may call itself finished.
        self._ended = threading.Event()
        if act is None:
            self._ended.set()
            return
        try:
            threading.Thread(target=self._run, name=f"kill-switch-{name}", daemon=True).start()
        except RuntimeError:  # a machine out of threads still has to stop
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
        except BaseException as error:  # noqa: BLE001 - whatever it is, the other parts go on and the report tells it
            self._error = in_words(error)
        self._ended.set()
