"""Results go to stdout, as text, a table or JSON; messages go to stderr, always as text."""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

import typer

from gaelp.cli.text_table import table_lines, wrapped
from gaelp.errors import GaelpError

__all__ = [
    "columns_of",
    "say",
    "say_error",
    "say_table",
    "say_unchanged",
    "say_waiting",
    "show_json",
    "show_paragraph",
    "show_table",
    "show_text",
    "wrapped",
]

_PIPE_COLUMNS = 100  # where no terminal has a width: a file, a pipe, a log of a scheduled job


def columns_of(stream: IO[str] | None) -> int:
    """The width of the terminal behind a stream, or 100 columns where there is none."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or _PIPE_COLUMNS if stream else _PIPE_COLUMNS
    except (OSError, ValueError):  # not a terminal, closed, or replaced by an object without a file
        return _PIPE_COLUMNS


def show_json(value: Any) -> None:
    """Print one JSON value on stdout; NaN and infinity, which JSON does not have, are refused."""
    show_text(json.dumps(value, indent=2, allow_nan=False))


def show_text(text: str) -> None:
    """Print a result on stdout, unchanged."""
    with _written_to_stdout():
        typer.echo(text)


def show_paragraph(text: str, indent: str = "") -> None:
    """Print sentences on stdout, wrapped to its width."""
    show_text(wrapped(text, _text_columns(sys.stdout), indent))


def show_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table on stdout, wrapped to its width; the cells are shown as they are, brackets included."""
    if sys.stdout is not None:  # None after `>&-`: there is nowhere to show it
        with _written_to_stdout():
            _print_table(columns, rows, sys.stdout)


def say(text: str, indent: str = "") -> None:
    """Print a message that is not a result; in a terminal it is wrapped between words."""
    say_unchanged(_fitted(text, indent))


def say_unchanged(text: str) -> None:
    """Print lines on stderr as they are, such as a traceback."""
    typer.echo(text, err=True)


def say_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table that is not a result on stderr."""
    if sys.stderr is not None:
        _print_table(columns, rows, sys.stderr)


def say_error(text: str) -> None:
    """Print why a command failed."""
    _say_marked("error: ", "red", text)


def say_waiting(text: str) -> None:
    """Print what a command waits for: a person's decision is no failure."""
    _say_marked("waiting: ", "yellow", text)


def _text_columns(stream: IO[str] | None) -> int:
    """The width of sentences on stdout; tests replace it, so that they can quote them."""
    return columns_of(stream)


def _say_marked(mark: str, colour: str, text: str) -> None:
    message = _fitted("-" * len(mark) + text)[len(mark) :]
    typer.echo(typer.style(mark, fg=colour, bold=True) + message, err=True)


def _fitted(text: str, indent: str = "") -> str:
    """Wrapped for a terminal; a pipe or a file gets each sentence on one line, as scripts search for it."""
    return wrapped(text, columns_of(sys.stderr), indent) if _is_terminal(sys.stderr) else text


def _is_terminal(stream: IO[str] | None) -> bool:
    return stream is not None and stream.isatty()


def _print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], stream: IO[str]) -> None:
    is_unicode = (getattr(stream, "encoding", None) or "utf-8").lower().startswith("utf")
    lines = table_lines(columns, [list(row) for row in rows], columns_of(stream), "─" if is_unicode else "-")
    stream.write("\n".join([*lines, ""]))
    stream.flush()


@contextmanager
def _written_to_stdout() -> Iterator[None]:
    """Report a full disk behind stdout as such; a reader that closed the pipe is no error."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        raise GaelpError(
            f"standard output cannot be written: {reason}. Make room where it goes, or send it elsewhere."
        ) from problem
