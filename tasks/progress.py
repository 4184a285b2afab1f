"""Where the reports of a phase go while it works: the run's log and progress bar in Prefect, and whoever listens."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from uuid import UUID

import httpx
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.logging import get_run_logger

from gaelp.training.report_text import as_text
from gaelp.training.reports import RoundDone, TrainingReport

__all__ = ["Bar", "listening", "report_progress"]

OnReport = Callable[[TrainingReport], None]

_SECONDS_BETWEEN_UPDATES = 5.0
_listener: ContextVar[OnReport | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: OnReport) -> Iterator[None]:
    """Hear every report of the phases that run in this terminal."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


class Bar:
    """A progress bar in Prefect, moved at most every few seconds: each move is a request to the server."""

    def __init__(self, key: str, description: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._moved_at = clock()
        self._id: UUID = create_progress_artifact(progress=0.0, key=key, description=description)  # type: ignore[assignment]

    def move(self, share: float) -> None:
        """Show the share that is done, between 0 and 1."""
        if share < 1 and self._clock() - self._moved_at < _SECONDS_BETWEEN_UPDATES:
            return
        self._moved_at = self._clock()
        # The bar is a window onto the work: while the server is away, the work goes on without it.
        with suppress(httpx.HTTPError):
            update_progress_artifact(artifact_id=self._id, progress=100 * share)


def report_progress(key: str) -> OnReport:
    """A listener for one phase: the bar for its rounds, the log for what is worth a line."""
    bar = Bar(key, "rounds of training")
    logger = get_run_logger()
    also = _listener.get()

    def show(report: TrainingReport) -> None:
        if isinstance(report, RoundDone):
            bar.move(report.round / report.rounds)
        elif text := as_text(report):
            logger.info(text)
        if also is not None:
            also(report)

    return show
