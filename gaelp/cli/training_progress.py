"""What a command shows while it works: a bar with an ETA in a terminal, a line every ten seconds elsewhere."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.table import Column
from rich.text import Text

from gaelp.cli.output import say
from gaelp.phases.stage_report import StageReport
from gaelp.training.report_text import as_text, round_text
from gaelp.training.reports import Resumed, RoundDone, TrainingReport

__all__ = ["ProgressScreen", "duration_text", "shown_progress"]

_LINE_EVERY_S = 10.0
_MINUTE_S, _HOUR_S = 60, 3600


@dataclass(slots=True)
class _Stage:
    """The stage at work, and what is needed to estimate its end."""

    name: str
    began: float  # of the clock
    done: int = 0
    total: int | None = None
    unit: str = ""
    done_before: int = 0  # by an earlier process: says nothing about the speed of this one

    def text(self, now: float) -> str:
        """Such as "training: round 5 of 15, ETA 12 s"."""
        elapsed_s = now - self.began
        if self.total is None:
            return self.name if elapsed_s < 1 else f"{self.name}, {duration_text(elapsed_s)} so far"
        counted = f"{self.unit} {self.done:,} of {self.total:,}" if self.unit == "round" else self._units()
        made = self.done - self.done_before
        if not made:
            return f"{self.name}: {counted}, {duration_text(elapsed_s)} so far"
        return f"{self.name}: {counted}, ETA {duration_text(elapsed_s / made * (self.total - self.done))}"

    def _units(self) -> str:
        return f"{self.done:,} of {self.total:,} {self.unit}"


class ProgressScreen:
    """Shows the stages of a phase and the reports of training on stderr."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console, self._clock = console, clock
        self._stage: _Stage | None = None
        self._said_at = clock()
        self._stopped = threading.Event()
        self._bar: Progress | None = None

    def report(self, report: TrainingReport | StageReport) -> None:
        """Show a report: the bar moves, or a line is printed."""
        match report:
            case StageReport():
                self._enter(report)
            case RoundDone():
                self._move(report.round, round_text(report))
            case Resumed() if self._stage is not None:
                self._stage.done = self._stage.done_before = report.round
        if not isinstance(report, StageReport) and (text := as_text(report)):
            self._print(text)

    def stage(self, name: str) -> None:
        """Say what the command does now, where nothing can be counted."""
        self._enter(StageReport(name))

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the bar, or print lines, while inside."""
        with self._drawn() if self._console.is_terminal else self._said_regularly():
            yield

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the terminal to a question while inside."""
        self._stage = None
        if self._bar is None:
            yield
            return
        self._bar.stop()
        try:
            yield
        finally:
            self._bar.start()

    def tick(self) -> None:
        """Print where the work is if nothing was said about it for ten seconds."""
        if self._stage is not None and self._clock() - self._said_at >= _LINE_EVERY_S:
            self._say_stage()

    def _enter(self, report: StageReport) -> None:
        if self._stage is None or (self._stage.name, self._stage.total) != (report.stage, report.total):
            self._stage = _Stage(report.stage, self._clock(), report.done, report.total, report.unit, report.done)
            if self._bar is None:
                self._say_stage()
        self._move(report.done, "")

    def _move(self, done: int, figures: str) -> None:
        if self._stage is None:
            return
        self._stage.done = done
        if self._bar is None:
            self.tick()
        else:
            self._bar.update(self._bar.task_ids[0], completed=done, total=self._stage.total, description=figures)

    def _say_stage(self) -> None:
        if self._stage is not None:
            self._said_at = self._clock()
            self._print(self._stage.text(self._said_at))

    def _print(self, text: str) -> None:
        if self._console.is_terminal:
            self._console.print(text, highlight=False, markup=False)
        else:
            say(text)

    @contextmanager
    def _drawn(self) -> Iterator[None]:
        figures = TextColumn("{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True))
        with Progress(
            _StageColumn(self), BarColumn(16), figures, console=self._console, transient=True, expand=True
        ) as bar:
            bar.add_task("", total=None)
            self._bar = bar
            try:
                yield
            finally:
                self._bar = None

    @contextmanager
    def _said_regularly(self) -> Iterator[None]:
        def say() -> None:
            while not self._stopped.wait(1.0):
                self.tick()

        thread = threading.Thread(target=say, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            thread.join()

    def stage_text(self) -> str:
        """Where the work is now."""
        return self._stage.text(self._clock()) if self._stage else ""


class _StageColumn(ProgressColumn):
    """The stage with its count and ETA; never wrapped."""

    def __init__(self, screen: ProgressScreen) -> None:
        super().__init__(table_column=Column(no_wrap=True))
        self._screen = screen

    def render(self, task: Task) -> Text:  # noqa: ARG002 - rich passes it
        """The text of the stage, whatever the task's own figures."""
        return Text(self._screen.stage_text())


@contextmanager
def shown_progress() -> Iterator[ProgressScreen]:
    """A screen on stderr that is shown while inside."""
    screen = ProgressScreen(Console(stderr=True))
    with screen.shown():
        yield screen


def duration_text(seconds: float) -> str:
    """A duration as people read it: 12 s, 3 min 05 s, 2 h 10 min."""
    whole = round(seconds)
    if whole < _MINUTE_S:
        return f"{whole} s"
    if whole < _HOUR_S:
        return f"{whole // _MINUTE_S} min {whole % _MINUTE_S:02} s"
    return f"{whole // _HOUR_S} h {whole % _HOUR_S // _MINUTE_S:02} min"
