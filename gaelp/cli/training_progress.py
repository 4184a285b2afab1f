"""Training in a terminal: a bar with the figures that tell whether it learns, and a line for what is worth one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gaelp.training.reports import Report

__all__ = ["shown_progress"]


@contextmanager
def shown_progress() -> Iterator[Callable[["Report"], None]]:
    """A listener that moves the bar; outside a terminal there is only a line for each validation."""
    from rich.console import Console  # noqa: PLC0415 - rich takes a fifth of a second that JSON and help need not spend
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415 - as above

    from gaelp.training.report_text import as_text, round_text  # noqa: PLC0415 - torch takes seconds
    from gaelp.training.reports import RoundDone  # noqa: PLC0415 - as above

    console = Console(stderr=True)
    columns = (TextColumn("{task.completed}/{task.total}"), BarColumn(20), TimeRemainingColumn())
    with Progress(
        *columns, TextColumn("{task.description}"), console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("starting", total=None)

        def show(report: "Report") -> None:
            if isinstance(report, RoundDone):
                bar.update(task, completed=report.round, total=report.rounds, description=round_text(report))
            elif text := as_text(report):
                console.print(text, highlight=False, markup=False, soft_wrap=True)

        yield show
