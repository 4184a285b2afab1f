"""Where the reports of a phase go while it works: the run's log and progress bar in Prefect, and this terminal."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from typing import Protocol
from uuid import UUID

import httpx
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.logging import get_run_logger

from gaelp.phases.stage_report import OnReport, StageReport
from gaelp.training.report_text import as_text
from gaelp.training.reports import RoundDone, TrainingReport

__all__ = ["Bar", "Screen", "announce", "report_progress", "screen_paused", "shown_on"]

_SECONDS_BETWEEN_UPDATES = 5.0


class Screen(Protocol):
    """The terminal that a run is driven from."""

    def report(self, report: TrainingReport | StageReport) -> None:
        """Show a report."""

    def paused(self) -> AbstractContextManager[None]:
        """Leave the terminal to a question while inside."""


_screen: ContextVar[Screen | None] = ContextVar("screen", default=None)


@contextmanager
def shown_on(screen: Screen) -> Iterator[None]:
    """Show the reports of every phase on this screen while inside."""
    token = _screen.set(screen)
    try:
        yield
    finally:
        _screen.reset(token)


def announce(stage: str) -> None:
    """Show what the flow does now, if it is driven from a terminal."""
    if screen := _screen.get():
        screen.report(StageReport(stage))


def screen_paused() -> AbstractContextManager[None]:
    """Stop the progress bar of this terminal, if there is one, while a question is asked."""
    screen = _screen.get()
    return screen.paused() if screen else nullcontext()


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
        # The bar only shows the work: while the server is away, the work continues without it.
        with suppress(httpx.HTTPError):
            update_progress_artifact(artifact_id=self._id, progress=100 * share)


def report_progress(key: str) -> OnReport:
    """A listener for one phase: rounds move the bar, each stage and notable report is a line in the log."""
    bar = Bar(key, "rounds of training")
    logger = get_run_logger()
    screen = _screen.get()

    def show(report: TrainingReport | StageReport) -> None:
        if isinstance(report, RoundDone):
            bar.move(report.round / report.rounds)
        elif isinstance(report, StageReport):
            if report.done == 0:
                logger.info(report.stage)
        elif text := as_text(report):
            logger.info(text)
        if screen is not None:
            screen.report(report)

    return show
