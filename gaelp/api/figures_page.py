"""The page that Prometheus reads: one reading of the ledger at a time, shared by all who ask, and kept for seconds."""

import time
from collections.abc import Callable
from concurrent.futures import Future

from gaelp.api.background_call import begin, within
from gaelp.observability import get_logger
from gaelp.observability.metrics import MoneyFigures, MoneyMetrics

__all__ = ["FiguresPage"]

log = get_logger(__name__)

_KEPT_SECONDS = 5.0  # shorter than any usual interval between two scrapes
_PATIENCE_SECONDS = 3.0  # Prometheus itself gives up after ten


class FiguresPage:
    """Reads the figures when they are asked for; a ledger that does not answer in time is shown as unreadable."""

    def __init__(self, read: Callable[[], MoneyFigures | None], *, now_seconds: Callable[[], float] = time.monotonic):
        self._read, self._now_seconds = read, now_seconds
        self._metrics = MoneyMetrics()
        self._reading: Future[MoneyFigures | None] | None = None
        self._reported: Future[MoneyFigures | None] | None = None
        self._begun_at = 0.0

    async def exposition(self) -> bytes:
        """The page in the text format of Prometheus; it never fails, for a missing page would alarm nobody."""
        try:
            figures = await within(_PATIENCE_SECONDS, self._latest())
        except Exception as problem:  # noqa: BLE001 - whatever it is, the ledger is then not readable
            self._report_once(problem)
            figures = None
        self._metrics.set(figures)
        return self._metrics.exposition()

    def _latest(self) -> "Future[MoneyFigures | None]":
        """The reading under way, or the last one while it is fresh, or a new one."""
        now = self._now_seconds()
        if self._reading is None or (self._reading.done() and now - self._begun_at >= _KEPT_SECONDS):
            self._reading, self._begun_at = begin(self._read), now
        return self._reading

    def _report_once(self, problem: Exception) -> None:
        """Log each reading that failed once, not once for each caller."""
        if self._reading is None or self._reading is not self._reported:
            log.warning("the money figures did not come", problem=f"{type(problem).__name__}: {problem}")
        self._reported = self._reading
