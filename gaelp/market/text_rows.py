"""Rows of a delimited text file with their line numbers; a file that is missing or of another kind is refused."""

import csv
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np

from gaelp.arrays import Ints
from gaelp.config.places import absolute
from gaelp.errors import DataError

__all__ = ["TextRows", "check_log_file", "original_lines", "text_rows"]

_ROWS_AT_ONCE = 2_000  # few enough that the garbage collector has little to walk through
_PARQUET = b"PAR1"
# How files begin that are not text, and what to do with them.
_OTHER_KINDS = {
    _PARQUET: "is a Parquet file. Rename it to end in .parquet",
    b"PK\x03\x04": "is an Excel workbook or a zip archive. Export it as CSV, or unpack it",
    b"\xd0\xcf\x11\xe0": "is an old Excel workbook. Export it as CSV",
    b"\x1f\x8b": "is compressed with gzip. Unpack it",
    b"\xff\xfe": "is UTF-16 text. Save it as CSV in UTF-8",
    b"\xfe\xff": "is UTF-16 text. Save it as CSV in UTF-8",
}


class TextRows(NamedTuple):
    """Some rows of a file, and the first and last line that each takes, counted from 1; arrays have shape (n,)."""

    fields: list[list[str]]
    first_line: Ints
    last_line: Ints

    def after(self, count: int) -> "TextRows":
        """The rows without the first `count`."""
        return TextRows(self.fields[count:], self.first_line[count:], self.last_line[count:])


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
        raise DataError(f"{place} is empty; allowed: at least one auction. Export the log again.")
    if parquet and not start.startswith(_PARQUET):
        raise DataError(f"{place} is not a Parquet file. Export it again, or rename it if it is CSV.")
    kind = next((start_bytes for start_bytes in _OTHER_KINDS if start.startswith(start_bytes)), None)
    if kind is not None and not parquet:
        raise DataError(f"{place} {_OTHER_KINDS[kind]}.")


def text_rows(path: Path, *, delimiter: str, quoted: bool = True) -> Iterator[TextRows]:
    """Every row that is not blank, some at a time; without `quoted`, a quotation mark is an ordinary character."""
    with _text(path) as file:
        reader = csv.reader(
            file, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE, strict=quoted
        )
        try:
            line_before = 0
            while rows := [(row, reader.line_num) for row in islice(reader, _ROWS_AT_ONCE)]:
                last_line = np.array([line for _, line in rows])
                first_line = np.append(line_before, last_line[:-1]) + 1
                filled = np.array([bool(row) for row, _ in rows])
                if filled.any():
                    yield TextRows([row for row, _ in rows if row], first_line[filled], last_line[filled])
                line_before = reader.line_num
        except csv.Error as problem:
            line = _row_at(path, delimiter, reader.line_num)
            raise DataError(
                f"{path.name}, line {line}: {problem}. Close or remove the quotation mark in this row."
            ) from None


def _row_at(path: Path, delimiter: str, line: int) -> int:
    """The line at which the row begins that a reader was in when it failed at `line`."""
    first_line = 1
    with _text(path) as file, suppress(csv.Error):
        reader = csv.reader(file, delimiter=delimiter)
        for _ in reader:
            if reader.line_num >= line:
                break
            first_line = reader.line_num + 1
    return first_line


def original_lines(path: Path, spans: Collection[tuple[int, int]]) -> list[str]:
    """The text of the rows that span these lines (first and last), which are in the order of the file."""
    first_lines = dict(spans)
    texts = []
    with _text(path) as file:
        lines = enumerate(file, start=1)
        for number, line in lines:
            if number in first_lines:
                more = first_lines[number] - number
                texts.append("".join(chain([line], (next(lines)[1] for _ in range(more)))).rstrip("\r\n"))
    return texts


@contextmanager
def _text(path: Path) -> Iterator[TextIO]:
    """The file as UTF-8 text, without the mark some programs put in front."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield file
    except UnicodeDecodeError as problem:
        byte = problem.object[problem.start]
        raise DataError(f"{path.name} is not UTF-8 text: it has the byte 0x{byte:02x}. Save it as UTF-8.") from None
