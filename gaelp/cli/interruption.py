"""Ctrl-C: one line that says whether anything was written, and exit code 130. A reader that left: silence, and 141.

Imported before everything else, so that Ctrl-C during the slow imports is reported as well: standard library only.
"""

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

__all__ = [
    "PIPE_CLOSED",
    "STOPPED",
    "ctrl_c_ends",
    "forget_watched",
    "leave_without_reader",
    "only_noted",
    "reader_is_gone",
    "report_interruption",
    "stop_message",
    "stopped_by_hand",
    "watch",
]

STOPPED = 130  # what shells report for a process that Ctrl-C ended
PIPE_CLOSED = 141  # what shells report for a process whose reader is gone, such as `head` once it has its lines

# A file system stamps its files with a clock that may be a few milliseconds behind.
_CLOCK_LAG_NS = 10_000_000

_watched_since_ns: dict[Path, int] = {}
_served: list[str] = []


def watch(path: Path) -> None:
    """Declare that the command may write this file, or below this folder, from now on."""
    _watched_since_ns[Path.cwd() / path] = time.time_ns() - _CLOCK_LAG_NS


def ctrl_c_ends(service: str) -> None:
    """Declare that Ctrl-C is how this service, such as "the HTTP server", is meant to end: no interruption."""
    _served.append(service)


def forget_watched() -> None:
    """Forget what the command before declared."""
    _watched_since_ns.clear()
    _served.clear()


def stop_message() -> str:
    """What Ctrl-C ended, or what an interrupted command leaves behind."""
    if _served:
        return f"{_served[-1]} has ended"
    if sys.argv[1:2] == ["kill"]:  # its own end is never an interruption, see there
        return "NOT STOPPED: interrupted before anything was done; repeat it"
    written = [str(path) for path, since_ns in _watched_since_ns.items() if _was_written(path, since_ns)]
    if not written:
        return "interrupted; nothing was written"
    return f"interrupted; what was written until then is in {', '.join(written)}"


def stopped_by_hand(error: BaseException) -> bool:
    """Was it Ctrl-C that raised this exception, even if a library turned it into another one?"""
    return _is_caused_by(error, KeyboardInterrupt)


def reader_is_gone(error: BaseException) -> bool:
    """Was the exception raised because whoever read stdout or stderr closed it, as `head` does?

    Typer and rich turn it into SystemExit, and rich has by then replaced stdout.
    """
    if not _is_caused_by(error, BrokenPipeError):
        return False
    return isinstance(error, SystemExit) or bool(_closed_outputs())


def leave_without_reader() -> NoReturn:
    """End a command whose reader is gone: silently, with the exit code that shells report for SIGPIPE."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for output in _closed_outputs():  # what is still buffered goes nowhere: Python would complain about it at exit
        os.dup2(nowhere, output)
    raise SystemExit(PIPE_CLOSED)


@contextmanager
def report_interruption() -> Iterator[None]:
    """Turn Ctrl-C inside into its line and its exit code, instead of a traceback."""
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write(f"{stop_message()}\n")
        raise SystemExit(STOPPED) from None


@contextmanager
def only_noted() -> Iterator[threading.Event]:
    """Inside, Ctrl-C interrupts nothing; the event records that it was pressed.

    After the first time Ctrl-C has no effect at all: pressed again while the process ends, it must not hide the report.
    """
    pressed = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield pressed  # only the main thread is interrupted
        return
    before = signal.signal(signal.SIGINT, lambda *_: pressed.set())
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN if pressed.is_set() else before)


def _closed_outputs() -> list[int]:
    """The descriptors among stdout and stderr that are pipes nobody reads any more."""
    outputs = select.poll()
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is not None and not stream.closed:
            outputs.register(stream.fileno(), 0)
    return [output for output, events in outputs.poll(0) if events & select.POLLERR]


def _is_caused_by(error: BaseException, kind: type[BaseException]) -> bool:
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, kind):
        cause = cause.__cause__ or cause.__context__
    return cause is not None


def _was_written(path: Path, since_ns: int) -> bool:
    files = path.rglob("*") if path.is_dir() else (path,)
    return any(_modified_ns(file) >= since_ns for file in files if not file.is_dir())


def _modified_ns(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0  # gone, or never there
