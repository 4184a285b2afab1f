"""Results go to stdout, as text, a table or JSON; messages go to stderr, always as text."""

import json
import os
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

import typer

from gaelp.errors import GaelpError

__all__ = [
    "columns_of",
    "say",
    "say_error",
    "say_table",
    "say_waiting",
    "show_json",
    "show_paragraph",
    "show_table",
    "show_text",
    "wrapped",
]

_COMMAND = re.compile(r"`[^`\n]+`")
_UNBROKEN = "\ue000"  # in place of a blank inside a command: of Unicode's private use, so in no text
_PIPE_COLUMNS = 100  # where no terminal has a width: a file, a pipe, a log of a scheduled job


def columns_of(stream: IO[str] | None) -> int:
    """The width of the terminal behind a stream, or 100 columns where there is none."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or _PIPE_COLUMNS if stream else _PIPE_COLUMNS
    except (OSError, ValueError):  # not a terminal, closed, or replaced by an object without a file
        return _PIPE_COLUMNS


def wrapped(text: str, columns: int, indent: str = "") -> str:
    """Text broken between words, each line after the first indented; words and `commands` are never broken."""
    lines = _COMMAND.sub(lambda command: command.group().replace(" ", _UNBROKEN), text).splitlines() or [""]
    fill = textwrap.TextWrapper(columns, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(fill.fill(line) for line in lines).replace(_UNBROKEN, " ")


def show_json(value: Any) -> None:
    """Print one JSON value on stdout; NaN and infinity, which JSON does not have, are refused."""
    show_text(json.dumps(value, indent=2, allow_nan=False))


def show_text(text: str) -> None:
    """Print a result on stdout, unchanged."""
    with _written_to_stdout():
        typer.echo(text)


def show_paragraph(text: str, indent: str = "") -> None:
    """Print sentences on stdout, wrapped to its width."""
    show_text(wrapped(text, columns_of(sys.stdout), indent))


def show_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table on stdout, wrapped to its width; the cells are shown as they are, brackets included."""
    if sys.stdout is not None:  # None after `>&-`: there is nowhere to show it
        with _written_to_stdout():
            _print_table(columns, rows, sys.stdout)


def say(text: str) -> None:
    """Print a message that is not a result; in a terminal it is wrapped between words."""
    typer.echo(_fitted(text), err=True)


def say_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table that is not a result on stderr."""
    if sys.stderr is not None:
        _print_table(columns, rows, sys.stderr)


def say_error(text: str) -> None:
    """Print why a command failed."""
    _say_labelled("error: ", text, "red")


def say_waiting(text: str) -> None:
    """Print what a command waits for: a person's decision is no failure."""
    _say_labelled("waiting: ", text, "yellow")


def _say_labelled(label: str, text: str, colour: str) -> None:
    typer.echo(typer.style(label, fg=colour, bold=True) + _fitted(label + text).removeprefix(label), err=True)


def _fitted(text: str) -> str:
    """Wrapped for a terminal; a pipe or a file gets each sentence on a line of its own, as scripts search for it."""
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    return wrapped(text, columns_of(sys.stderr)) if is_terminal else text


def _print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], stream: IO[str]) -> None:
    from gaelp.cli.rich_table import print_table  # noqa: PLC0415 - rich takes 0.1 s, and JSON, help and kill need none

    print_table(columns, rows, stream, columns_of(stream))


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
