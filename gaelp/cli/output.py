"""Results go to stdout, as a table or as JSON; everything said besides goes to stderr."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer

from gaelp.errors import GaelpError

__all__ = ["say", "say_error", "show_json", "show_table", "show_text"]

# A table that is piped should not be folded at the 80 columns of a terminal that is not there.
_PIPE_COLUMNS = 400


def show_json(value: Any) -> None:
    """Print one JSON value on stdout; NaN and infinity, which JSON does not have, are refused."""
    show_text(json.dumps(value, indent=2, allow_nan=False))


def show_text(text: str) -> None:
    """Print a result on stdout."""
    with _written_to_stdout():
        typer.echo(text)


def show_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table on stdout; the cells are shown as they are, brackets included."""
    from rich import box  # noqa: PLC0415 - rich takes a fifth of a second, and JSON or help need none of it
    from rich.console import Console  # noqa: PLC0415 - as above
    from rich.table import Table  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    table = Table(*columns, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    if sys.stdout is not None:  # None after `>&-`: there is nowhere to show it
        with _written_to_stdout():
            Console(width=None if sys.stdout.isatty() else _PIPE_COLUMNS).print(table)


def say(text: str) -> None:
    """Tell the person at the terminal something that is not a result."""
    typer.echo(text, err=True)


def say_error(text: str) -> None:
    """Tell why a command stopped."""
    typer.secho("error: ", err=True, nl=False, fg="red", bold=True)
    typer.echo(text, err=True)


@contextmanager
def _written_to_stdout() -> Iterator[None]:
    """A full disk behind stdout is told as such; a reader that closed the pipe has seen enough and is left alone."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        raise GaelpError(
            f"standard output cannot be written: {reason}. Make room where it goes, or send it elsewhere."
        ) from problem
