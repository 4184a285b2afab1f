"""Results go to stdout, as a table or as JSON; messages go to stderr, as text or as the JSON lines of the log."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import typer

from gaelp.errors import GaelpError

__all__ = ["messages_as_json", "say", "say_error", "say_waiting", "show_json", "show_table", "show_text"]

_messages_as_json = False


def messages_as_json(wanted: bool) -> None:
    """From now on, print messages to a pipe as JSON lines, or as text again; a terminal always shows text."""
    global _messages_as_json  # noqa: PLW0603 - stderr is one for the whole process
    _messages_as_json = wanted


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
    """Print a message that is not a result."""
    _print_message("info", "", text)


def say_error(text: str) -> None:
    """Print why a command failed."""
    _print_message("error", typer.style("error: ", fg="red", bold=True), text)


def say_waiting(text: str) -> None:
    """Print what a command waits for: a person's decision is no failure."""
    _print_message("warning", typer.style("waiting: ", fg="yellow", bold=True), text)


def _print_message(level: str, prefix: str, text: str) -> None:
    if _messages_as_json and not (sys.stderr and sys.stderr.isatty()):  # None after `2>&-`
        timestamp = datetime.now(UTC).isoformat().replace("+00:00", "Z")  # keys and form as in the log
        typer.echo(json.dumps({"timestamp": timestamp, "level": level, "logger": "gaelp.cli", "event": text}), err=True)
    else:
        typer.echo(prefix + text, err=True)


@contextmanager
def _written_to_stdout() -> Iterator[None]:
    """Report a full disk behind stdout as such; a reader that closed the pipe has read enough, which is no error."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        raise GaelpError(
            f"standard output cannot be written: {reason}. Make room where it goes, or send it elsewhere."
        ) from problem
