"""The emergency stop over HTTP: pull it as `gaelp kill` does, and show what is in force. Nothing here releases.

A stop runs in a thread of its own that no other request can take away, and each is a stop of its own.
"""

from typing import Literal

from gaelp.api.background_call import FewThreads, begin, start_or_run_inline, within
from gaelp.api.stop_followup import StopEnds
from gaelp.bootstrap import kill_switch, latch
from gaelp.budget.kill_switch import KillSwitch, StopReport
from gaelp.budget.latch import StopRecord
from gaelp.budget.stop_alerts import alert_stopped
from gaelp.config.base import Frozen
from gaelp.config.settings import Settings
from gaelp.observability import get_logger

__all__ = ["EmergencyStop", "StandingStop", "StopStatus"]

log = get_logger(__name__)

# A stop takes half a second at most; beyond this the machine does not answer, and people must know.
_STOP_SECONDS = 5.0
_READ_SECONDS = 2.0
_READERS = 4


class StandingStop(Frozen):
    """A stop that is in force, and where it is recorded."""

    id: str
    at: str
    by: str
    reason: str
    stands_in: tuple[Literal["latch", "fence"], ...]


class StopStatus(Frozen):
    """Is spending stopped? What cannot be read counts as stopped, and `detail` says what it was.

    `newest` is the report, part by part, of the newest stop over this server, whether or not it was released since.
    """

    stopped: bool
    readable: bool
    stops: tuple[StandingStop, ...]
    detail: str = ""
    newest: StopReport | None = None


class EmergencyStop:
    """Stops all spending of these settings on request, and knows what is in force."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._latch = latch(settings)
        self._latch_readers, self._book_readers = FewThreads(_READERS), FewThreads(_READERS)
        self._ends = StopEnds(settings)
        self._newest: KillSwitch | None = None

    async def stop(self, *, by: str, reason: str) -> StopReport:
        """Stop now; the report says whether it has. Raises, TimeoutError for one, where that is not known."""
        return await within(_STOP_SECONDS, start_or_run_inline(lambda: self._stop(by, reason)))

    async def standing(self) -> StopStatus:
        """What is in force; a database that does not answer leaves what the latch says."""
        try:
            state = await within(_READ_SECONDS, self._book_readers.begin(lambda: kill_switch(self._settings).state()))
        except Exception as problem:  # noqa: BLE001 - whatever keeps us from knowing, not knowing means stopped
            return await self._latch_alone(problem)
        return StopStatus(
            stopped=state.is_stopped,
            readable=True,
            stops=_stops(state.latch, state.fence),
            newest=self._newest_report(),
        )

    async def finish(self) -> None:
        """Before the process ends: wait for what is still trying, and report what did not finish."""
        await self._ends.finish()

    def _stop(self, by: str, reason: str) -> StopReport:
        self._newest = switch = kill_switch(self._settings)
        report = switch.begin(by=by, reason=reason)
        said = "stopped over HTTP" if report.stopped else "a stop over HTTP has not stopped yet"
        log.warning(said, stop_id=report.stop_id, by=by, reason=reason, parts=report.describe_parts())
        try:
            begin(lambda: self._alert(report, by, reason))  # who stops does not wait for a mail server
            if report.is_trying:
                self._ends.follow(switch, report)
        except RuntimeError as problem:
            log.exception("nobody is alerted of the stop", stop_id=report.stop_id, problem=str(problem))
        return report

    def _alert(self, report: StopReport, by: str, reason: str) -> None:
        for problem in alert_stopped(self._settings, report, by=by, reason=reason):
            log.error(problem, stop_id=report.stop_id)

    def _newest_report(self) -> StopReport | None:
        return None if self._newest is None else self._newest.report()

    async def _latch_alone(self, problem: Exception) -> StopStatus:
        reason = str(problem) or f"no answer within {_READ_SECONDS:g} s ({type(problem).__name__})"
        try:
            record = await within(_READ_SECONDS, self._latch_readers.begin(self._latch.read))
        except Exception:  # noqa: BLE001 - as above; the first problem is the one reported
            record = None
        return StopStatus(
            stopped=True,
            readable=False,
            stops=_stops(record, None),
            detail=f"what cannot be read counts as stopped: {reason}",
            newest=self._newest_report(),
        )


def _stops(latch: StopRecord | None, fence: StopRecord | None) -> tuple[StandingStop, ...]:
    """Both records, or a single one where both are of the same stop."""
    stops: dict[str, StandingStop] = {}
    places: tuple[tuple[Literal["latch", "fence"], StopRecord | None], ...] = (("latch", latch), ("fence", fence))
    for place, record in places:
        if record is not None:
            before = stops[record.id].stands_in if record.id in stops else ()
            stops[record.id] = StandingStop(
                id=record.id, at=record.at, by=record.by, reason=record.reason, stands_in=(*before, place)
            )
    return tuple(stops.values())
