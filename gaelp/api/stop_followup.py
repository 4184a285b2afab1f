"""Report the end of the parts of a stop that were still trying when the caller got its answer."""

import time
from collections import deque
from concurrent.futures import Future
from contextlib import suppress

from gaelp.api.background_call import begin, within
from gaelp.budget.kill_switch import KillSwitch, StopReport
from gaelp.budget.stop_alerts import alert_followup
from gaelp.config.settings import Settings
from gaelp.observability import get_logger

__all__ = ["StopEnds"]

log = get_logger(__name__)

_PATIENCE_SECONDS = 120.0  # a database gives up within a minute; what hangs longer is reported as such
_LEAVING_SECONDS = 10.0  # what is still trying gets so much time when the server has to end
_TELLING_SECONDS = 5.0  # and so much the alert about what has not come


class StopEnds:
    """Follows stops to their end and reports it: in the log, and with an alert."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._followed: deque[tuple[KillSwitch, Future[None]]] = deque(maxlen=100)

    def follow(self, switch: KillSwitch, first: StopReport) -> None:
        """Wait for the end of a stop in a thread beside the server; RuntimeError if there is no thread to be had."""
        ended = begin(lambda: self._report(switch.wait(_PATIENCE_SECONDS), first))
        self._followed.append((switch, ended))

    async def finish(self) -> None:
        """Before the process ends: wait a while for what is still trying, then report what did not finish."""
        waiting = [(switch, ended) for switch, ended in self._followed if not ended.done()]
        if not waiting:
            return
        try:
            await within(_LEAVING_SECONDS + _TELLING_SECONDS, begin(lambda: self._finish(waiting)))
        except TimeoutError:
            log.exception("the server ends before people are alerted how a stop ended: run `gaelp kill` to be sure")

    def _finish(self, waiting: list[tuple[KillSwitch, "Future[None]"]]) -> None:
        until = time.monotonic() + _LEAVING_SECONDS
        for switch, ended in waiting:
            report = switch.wait(max(0.0, until - time.monotonic()))
            if report.is_trying:
                self._report(report, report)
            else:
                with suppress(TimeoutError):
                    ended.result(_TELLING_SECONDS)  # its follower is about to report

    def _report(self, report: StopReport, first: StopReport) -> None:
        """Log and alert the end, for people would else believe the first report; critical unless everything stopped."""
        if report.complete:
            log.warning("all parts of the stop are done", stop_id=report.stop_id)
        else:
            log.error("not all parts of the stop are done", stop_id=report.stop_id, parts=report.describe_parts())
        for problem in alert_followup(self._settings, report, is_good=report.complete and first.stopped):
            log.error(problem, stop_id=report.stop_id)
