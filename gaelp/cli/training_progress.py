"""Training in a terminal: a bar with the figures that tell whether it learns, and a line for what is worth one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from gaelp.cli.output import say
from gaelp.training.report_text import as_text, round_text
from gaelp.training.reports import RoundDone, TrainingReport

__all__ = ["shown_progress"]


@contextmanager
def shown_progress() -> Iterator[Callable[[TrainingReport], None]]:
    """A listener that moves the bar; outside a terminal there is only a line for each validation."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.completed}/{task.total}"), BarColumn(20), TimeRemainingColumn())
    with Progress(
        *columns, TextColumn("{task.description}"), console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("starting", total=None)

        def show(report: TrainingReport) -> None:
            if isinstance(report, RoundDone):
                bar.update(task, completed=report.round, total=report.rounds, description=round_text(report))
            elif (text := as_text(report)) and console.is_terminal:
                console.print(text, highlight=False, markup=False, soft_wrap=True)
            elif text:
                say(text)

        yield show
