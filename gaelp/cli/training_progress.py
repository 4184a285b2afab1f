"""What a command shows while it works: a bar with an ETA in a terminal, a line every ten seconds elsewhere."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task
from rich.table import Column
from rich.text import Text

from gaelp.cli.output import say, wrapped
from gaelp.cli.time_left import TimeLeft, duration_text
from gaelp.phases.stage_report import StageReport
from gaelp.training.report_text import as_text, round_text
from gaelp.training.reports import Resumed, RoundDone, TrainingReport

__all__ = ["ProgressScreen", "shown_progress"]

_LINE_EVERY_S = 10.0
_BAR_COLUMNS = 16
_BETWEEN_FIGURES = ", "


class _Stage:
    """The stage at work, and how long it will still take where its work is counted."""

    def __init__(self, report: StageReport, now: float) -> None:
        self.name, self.total, self._unit, self._hint = report.stage, report.total, report.unit, report.hint
        self._began, self._is_explained, self.figures = now, False, report.figures
        self.begin_at(report.done, now)

    def begin_at(self, done: int, now: float) -> None:
        """So much was done before, by an earlier process: it says nothing about the speed of this one."""
        self._done = done
        self._left = TimeLeft(self.total or 0, done, now)

    def move(self, done: int, now: float) -> None:
        """So much is done now."""
        self._done = done
        self._left.note(done, now)

    def text(self, now: float) -> str:
        """Such as "training: round 5 of 15, ETA 12 s"."""
        elapsed_s = now - self._began
        so_far = f"{duration_text(elapsed_s)} so far"
        if self.total is None:
            return self.name if elapsed_s < 1 else f"{self.name}, {so_far}"
        numbers = f"{self._done:,} of {self.total:,}"
        counted = f"{self._unit} {numbers}" if self._unit == "round" else f"{numbers} {self._unit}"
        seconds = self._left.seconds(now)
        known = f"; {self.figures}" if self.figures else ""
        return f"{self.name}: {counted}, {so_far if seconds is None else f'ETA {duration_text(seconds)}'}{known}"

    def explanation(self, now: float) -> str:
        """Once, after ten seconds: why the stage may take long; empty before, afterwards, and where that is unknown."""
        if self._is_explained or not self._hint or now - self._began < _LINE_EVERY_S:
            return ""
        self._is_explained = True
        return f"{self.name}: {self._hint}"


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
                self._stage.begin_at(report.round, self._clock())
        if not isinstance(report, StageReport) and (text := as_text(report)):
            self._print(text)

    def stage(self, name: str) -> None:
        """Say what the command does now, where nothing can be counted."""
        self._enter(StageReport(name))

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the bar, or print lines, while inside."""
        with self._drawn() if self._console.is_terminal else nullcontext(), self._ticking():
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
        """Print why a stage takes long; and where there is no bar, where the work is, every ten seconds."""
        if self._stage is None:
            return
        if explanation := self._stage.explanation(self._clock()):
            self._print(explanation)
        if self._bar is None and self._clock() - self._said_at >= _LINE_EVERY_S:
            self._say_stage()

    def _enter(self, report: StageReport) -> None:
        if self._stage is None or (self._stage.name, self._stage.total) != (report.stage, report.total):
            self._stage = _Stage(report, self._clock())
            if self._bar is None:
                self._say_stage()
        self._stage.figures = report.figures
        self._move(report.done, report.figures)

    def _move(self, done: int, figures: str) -> None:
        if self._stage is None:
            return
        self._stage.move(done, self._clock())
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
            lines = wrapped(text, self._console.width)
            self._console.print(lines, highlight=False, markup=False, soft_wrap=True)
        else:
            say(text)

    @contextmanager
    def _drawn(self) -> Iterator[None]:
        columns = (_StageColumn(self), BarColumn(_BAR_COLUMNS), _FiguresColumn(self, self._console))
        with Progress(*columns, console=self._console, transient=True, expand=True) as bar:
            bar.add_task("", total=None)
            self._bar = bar
            try:
                yield
            finally:
                self._bar = None

    @contextmanager
    def _ticking(self) -> Iterator[None]:
        def tick() -> None:
            while not self._stopped.wait(1.0):
                self.tick()

        thread = threading.Thread(target=tick, daemon=True)
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


class _FiguresColumn(ProgressColumn):
    """As many whole figures of the newest round as fit beside stage and bar: none is cut."""

    def __init__(self, screen: ProgressScreen, console: Console) -> None:
        super().__init__(table_column=Column(ratio=1, no_wrap=True))
        self._screen, self._console = screen, console

    def render(self, task: Task) -> Text:
        """The first figures that fit."""
        room = self._console.width - len(self._screen.stage_text()) - _BAR_COLUMNS - 2  # one space between columns
        figures = task.description.split(_BETWEEN_FIGURES)
        while figures and len(_BETWEEN_FIGURES.join(figures)) > room:
            figures.pop()
        return Text(_BETWEEN_FIGURES.join(figures))


@contextmanager
def shown_progress() -> Iterator[ProgressScreen]:
    """A screen on stderr that is shown while inside."""
    screen = ProgressScreen(Console(stderr=True))
    with screen.shown():
        yield screen
