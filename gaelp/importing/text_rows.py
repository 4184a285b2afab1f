"""Rows of a delimited text file with their line numbers; a line that cannot be a row is returned with what is wrong.

Memory stays bounded whatever the file holds: a line has at most LINE_CHARACTERS_MAX characters, and a quoted field
spans at most 100 lines. A stray quotation mark costs its own line and none of those after it.
"""

import csv
import gzip
import re
import zlib
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple, TextIO, cast

import numpy as np

from gaelp.arrays import Ints
from gaelp.config.places import absolute
from gaelp.errors import DataError

__all__ = ["LINE_CHARACTERS_MAX", "LineFault", "TextRows", "check_log_file", "first_lines", "text_rows"]

LINE_CHARACTERS_MAX = 200_000
ROWS_AT_ONCE = 20_000
_MORE_LINES_MAX = 100  # of one row
_PARQUET, _GZIP = b"PAR1", b"\x1f\x8b"
# How files begin that are not text, and what to do with them.
_OTHER_KINDS = {
    _PARQUET: "is a Parquet file. Rename it to end in .parquet",
    b"PK\x03\x04": "is an Excel workbook or a zip archive. Export it as CSV, or unpack it",
    b"\xd0\xcf\x11\xe0": "is an old Excel workbook. Export it as CSV",
    b"\xff\xfe": "is UTF-16 text. Save it as CSV in UTF-8",
    b"\xfe\xff": "is UTF-16 text. Save it as CSV in UTF-8",
}
_NOT_UTF8 = re.compile("[\udc80-\udcff]")


class LineFault(NamedTuple):
    """What is wrong with a line as a whole: where, the rule, and what was seen."""

    place: str
    rule: str
    value: str


class TextRows(NamedTuple):
    """Some rows of a file; a row with a fault has no fields."""

    fields: list[list[str]]
    line: Ints  # (n,) the first line of each, counted from 1
    texts: list[str]  # as the file has them
    faults: dict[int, LineFault]  # by position


class _BrokenLine(Exception):
    """A line that the CSV reader must not see."""

    def __init__(self, fault: LineFault) -> None:
        self.fault = fault


def check_log_file(path: Path, *, parquet: bool = False) -> None:
    """Refuse a path that is missing, a folder or an empty file, or a file that is not what it is read as."""
    place = absolute(path)
    try:
        if path.is_dir():
            raise DataError(f"{place} is a folder; allowed: one file. Name the log inside it.")
        if not path.exists():
            raise DataError(f"{place} does not exist. Check the path for a typing error, or export the log there.")
        with path.open("rb") as file:
            start = file.read(8)
    except OSError as problem:
        raise DataError(f"{place} cannot be read: {problem.strerror}. Check the path and its permissions.") from None
    if not start:
        raise DataError(f"{place} is empty; allowed: at least one row. Export the log again.")
    if parquet and not start.startswith(_PARQUET):
        raise DataError(f"{place} is not a Parquet file. Export it again, or rename it if it is CSV.")
    kind = next((start_bytes for start_bytes in _OTHER_KINDS if start.startswith(start_bytes)), None)
    if kind is not None and not parquet:
        raise DataError(f"{place} {_OTHER_KINDS[kind]}.")


def first_lines(path: Path, count: int) -> list[str]:
    """The first lines without their ends, each cut at the longest allowed."""
    with _text(path) as file:
        lines = iter(lambda: file.readline(LINE_CHARACTERS_MAX), "")
        return [line.rstrip("\r\n") for line in islice(lines, count)]


def text_rows(
    path: Path,
    *,
    delimiter: str,
    width: int,
    quoted: bool = True,
    skip_lines: int = 0,
    rows_at_once: int = ROWS_AT_ONCE,
) -> Iterator[TextRows]:
    """Every row that is not blank, some at a time; without `quoted`, a quotation mark is an ordinary character.

    `width` is how many fields a row has; a row with another number has a fault.
    """
    with _text(path) as file:
        lines = _Lines(file)
        for _ in range(skip_lines):
            next(lines, None)
        if quoted:
            reader = csv.reader(lines, delimiter=delimiter, strict=True)
        else:
            reader = csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
        rows = _rows(reader, lines, width, delimiter)
        while some := list(islice(rows, rows_at_once)):
            faults = {position: row[3] for position, row in enumerate(some) if row[3] is not None}
            yield TextRows(
                [row[1] for row in some], np.array([row[0] for row in some]), [row[2] for row in some], faults
            )


class _Lines(Iterator[str]):
    """The lines of a file, one at a time; those taken since `start_row` can be returned to it."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._returned: deque[str] = deque()
        self.taken: list[str] = []
        self.number = 0

    def start_row(self) -> int:
        """Forget what was taken; return the number of the next line."""
        self.taken.clear()
        return self.number + 1

    def keep_first(self) -> str:
        """Return all lines of this row but its first, for the next row to begin there."""
        self._returned.extendleft(reversed(self.taken[1:]))
        self.number -= len(self.taken) - 1
        return self.taken[0]

    def __next__(self) -> str:
        if len(self.taken) > _MORE_LINES_MAX:
            raise _BrokenLine(_open_quote(_MORE_LINES_MAX))
        line = self._returned.popleft() if self._returned else self._file.readline(LINE_CHARACTERS_MAX + 2)
        if not line:
            raise StopIteration
        self.number += 1
        is_long = len(line) > LINE_CHARACTERS_MAX and len(line.rstrip("\r\n")) > LINE_CHARACTERS_MAX
        self.taken.append(self._ended(line) if is_long else line)
        if is_long:
            raise _BrokenLine(LineFault("line", f"allowed: {LINE_CHARACTERS_MAX:,} characters", "a longer line"))
        if "\0" in line:
            raise _BrokenLine(LineFault("line", "allowed: text without NUL bytes", "a NUL byte"))
        if not line.isascii() and (wrong := _NOT_UTF8.search(line)):
            byte = f"the byte 0x{ord(wrong[0]) - 0xDC00:02x}"
            raise _BrokenLine(LineFault("line", "not UTF-8 text: save the file as UTF-8", byte))
        return line

    def _ended(self, line: str) -> str:
        """The beginning of a long line; the rest of it is read and dropped."""
        rest = line
        while rest and not rest.endswith(("\n", "\r")):
            rest = self._file.readline(LINE_CHARACTERS_MAX)
        return line if line.endswith(("\n", "\r")) else f"{line}\n"


def _rows(
    reader: Iterator[list[str]], lines: _Lines, width: int, delimiter: str
) -> Iterator[tuple[int, list[str], str, LineFault | None]]:
    """The first line, the fields, the text and the fault of every row."""
    while True:
        first, fault = lines.start_row(), None
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as problem:
            fault = LineFault("quotation marks", "close or remove the quotation mark in this row", str(problem))
        except _BrokenLine as problem:
            fault = problem.fault
        more = len(lines.taken) - 1
        if fault is None and len(fields) == width and more == 0:
            yield first, fields, lines.taken[0].rstrip("\r\n"), None
        elif fault is None and not fields:
            continue
        elif more and (fault is not None or len(fields) != width or _swallows_rows(lines.taken, width, delimiter)):
            yield first, [], lines.keep_first().rstrip("\r\n"), _open_quote(more)
        else:
            fault = fault or _wrong_width(len(fields), width)
            yield first, [] if fault else fields, "".join(lines.taken).rstrip("\r\n"), fault


def _swallows_rows(lines: list[str], width: int, delimiter: str) -> bool:
    """Whether a quoted field that spans lines took in whole rows: two stray quotation marks enclose what is between."""
    return any(line.count(delimiter) >= width - 1 for line in lines[1:])


def _wrong_width(fields: int, width: int) -> LineFault | None:
    return (
        None if fields == width else LineFault("number of fields", f"allowed: {width}, as in the header", str(fields))
    )


def _open_quote(more_lines: int) -> LineFault:
    return LineFault(
        "quotation marks", "close or remove the quotation mark in this row", f"one open for {more_lines} more lines"
    )


@contextmanager
def _text(path: Path) -> Iterator[TextIO]:
    """The file as UTF-8 text, unpacked, without the mark some programs put in front."""
    with path.open("rb") as start:
        is_gzip = start.read(2) == _GZIP
    try:
        with cast("BinaryIO", gzip.open(path) if is_gzip else path.open("rb")) as raw:
            # Bytes that are not UTF-8 become surrogates: their line is refused, not the file.
            yield TextIOWrapper(raw, encoding="utf-8-sig", errors="surrogateescape", newline="")
    except (EOFError, gzip.BadGzipFile, zlib.error) as problem:
        raise DataError(f"{path.name} cannot be unpacked: {problem}. It may be cut short: copy it again.") from None
