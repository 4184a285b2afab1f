"""Results go to stdout, as a table or as JSON; everything said besides goes to stderr."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer

from gaelp.errors import GaelpError

__all__ = ["say", "say_error", "show_json", "show_table", "show_text"]


def show_json(value: Any) -> None:
    """Print one JSON value on stdout; NaN and infinity, which JSON does not have, are refused."""
    show_text(json.dumps(value, indent=2, allow_nan=False))


def show_text(text: str) -> None:
    """Print a result on stdout."""
    with _written_to_stdout():
        typer.echo(text)


def show_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table on stdout; the cells are shown as they are, brackets included."""
    from gaelp.cli.rich_table import print_table  # noqa: PLC0415 - rich takes 0.1 s, and JSON, help and kill need none

    if sys.stdout is not None:  # None after `>&-`: there is nowhere to show it
        with _written_to_stdout():
            print_table(columns, rows)


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
