"""The clock of a sandbox: stopped, or running at 1 to 100,000 times the speed of wall time, in a thread of its own."""

import threading
import time
from datetime import datetime

from gaelp.errors import BadInput
from gaelp.observability import get_logger
from gaelp.sandbox.exchange import TICK_SECONDS
from gaelp.sandbox.world import SandboxWorld

__all__ = ["MAX_SPEED", "SimulatedClock", "check_speed"]

MAX_SPEED = 100_000.0
_LOOK_SECONDS = 0.02
_TURN_SECONDS = 0.02  # how long calls may have to wait for time to pass
_LARGEST_DEBT_SECONDS = 1.0  # of wall time; a world that cannot keep up runs as fast as it can

log = get_logger(__name__)


def check_speed(speed: float) -> float:
    """The speed itself if it is one: 0 is stopped."""
    if not (speed == 0 or 1 <= speed <= MAX_SPEED):
        raise BadInput(f"speed {speed:g}: allowed are 0 (stopped) and 1 to {MAX_SPEED:g} times the speed of wall time")
    return speed


class SimulatedClock:
    """Moves a world at a speed, up to its barrier; the world's own steps of whole ticks are the time that is shown."""

    def __init__(self, world: SandboxWorld, speed: float = 0.0) -> None:
        self._world = world
        self._speed = check_speed(speed)
        self._changed = threading.Event()
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="sandbox-clock", daemon=True)
        self.failure: str | None = None  # why time has stopped by itself

    def now(self) -> datetime:
        """The simulated instant, in UTC."""
        return self._world.now()

    @property
    def speed(self) -> float:
        """How many simulated seconds pass in a second; 0 if the clock is stopped."""
        return self._speed

    def set_speed(self, speed: float) -> None:
        """Run at another speed from now on, or stop (0)."""
        self._speed = check_speed(speed)
        self.failure = None
        self._changed.set()

    def start(self) -> None:
        """Begin to move the world."""
        self._thread.start()

    def stop(self) -> None:
        """End for good; no tick passes after this."""
        self._ended = True
        self._changed.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended:
            if self._speed == 0:
                self._changed.wait()
            self._changed.clear()
            try:
                self._run_at(self._speed)
            except Exception as problem:  # time has to stop visibly, whatever the reason
                self.failure = str(problem) or type(problem).__name__
                self._speed = 0.0
                log.exception("simulated time has stopped")

    def _run_at(self, speed: float) -> None:
        """Let ticks pass at this speed until it is changed."""
        owed, turn, before = 0.0, 1, time.monotonic()
        while speed and not self._changed.is_set():
            began = time.monotonic()
            owed = min(owed + (began - before) * speed, _LARGEST_DEBT_SECONDS * speed + TICK_SECONDS)
            before = began
            wanted = min(int(owed // TICK_SECONDS), turn)
            passed = self._world.advance_ticks(wanted) if wanted else 0
            owed = owed - passed * TICK_SECONDS if passed == wanted else 0.0  # at the barrier nothing is owed
            if passed:
                took = time.monotonic() - began
                turn = max(1, min(2 * turn, int(passed * _TURN_SECONDS / max(took, 1e-6))))
            if owed < TICK_SECONDS:
                self._changed.wait(_LOOK_SECONDS)
