"""Progress of work on several bidders: a bar with the time left in a terminal, a line every few seconds elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, Task, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from gaelp.cli.output import say
from gaelp.cli.time_left import duration_text

__all__ = ["LineProgress", "ShowProgress", "show_bidder_progress"]

ShowProgress = Callable[[str, int, int], None]  # bidder, steps done, steps of this bidder

_LINE_EVERY_SECONDS = 10.0
_SHARE_FOR_ESTIMATE = 0.1  # the first steps are no measure of the rest: the time left is shown from here on


@contextmanager
def show_bidder_progress(title: str, bidders: int) -> Iterator[Callable[[str], ShowProgress]]:
    """Show progress on stderr over so many bidders in all; what is yielded returns the callback for one market."""
    console = Console(stderr=True)
    shares: dict[tuple[str, str], float] = {}
    lines = LineProgress(title, bidders)
    columns = (TextColumn("{task.description}"), BarColumn(20), TaskProgressColumn(), _TimeLeftColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(title, total=bidders)
        if not console.is_terminal:
            lines.start()

        def of_market(market: str) -> ShowProgress:
            def show(bidder: str, done: int, total: int) -> None:
                shares[market, bidder] = done / total
                completed = sum(shares.values())
                if console.is_terminal:
                    bar.update(task, completed=completed, description=f"{title} {market}: {bidder}")
                else:
                    lines.update(completed, f"{market}: {bidder}")

            return show

        yield of_market


class LineProgress:
    """Progress as lines for a pipe or a log file; `clock` returns seconds."""

    def __init__(self, title: str, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._title, self._total, self._clock = title, total, clock

    def start(self) -> None:
        """Say how much there is to do."""
        self._started = self._last_line = self._clock()
        say(f"{self._title} {self._total} bidders ...")

    def update(self, completed: float, step: str) -> None:
        """Say how far the work is and, once that can be estimated, how long the rest will take; not too often."""
        now = self._clock()
        if now - self._last_line < _LINE_EVERY_SECONDS or completed <= 0:
            return
        self._last_line = now
        left = ""
        if _can_estimate(completed, self._total):
            seconds = (now - self._started) * (self._total - completed) / completed
            left = f", about {duration_text(seconds)} left"
        say(f"{self._title} {int(completed + 1e-9)} of {self._total} bidders{left} ({step})")


class _TimeLeftColumn(TimeRemainingColumn):
    """The time left, blank while it cannot be estimated."""

    def render(self, task: Task) -> Text:
        return super().render(task) if _can_estimate(task.completed, task.total or 0.0) else Text("")


def _can_estimate(completed: float, total: float) -> bool:
    return completed >= min(1.0, _SHARE_FOR_ESTIMATE * total)
