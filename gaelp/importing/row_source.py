"""Open a file for import: find its header and mapping, and read its rows some at a time."""

import csv
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from gaelp.arrays import Bools
from gaelp.errors import DataError
from gaelp.importing.column_mapping import ImportMapping
from gaelp.importing.conversion import FileRows
from gaelp.importing.header import LogColumns, match_columns
from gaelp.importing.known_formats import AUCTION_COLUMNS, IPINYOU, known_columns, report_mapping
from gaelp.importing.redaction import redact_text
from gaelp.importing.text_rows import ROWS_AT_ONCE, TextRows, check_log_file, first_lines, text_rows

__all__ = [
    "FileFormat",
    "RowSource",
    "frame_source",
    "guess_mapping",
    "named_after_content",
    "open_file",
    "table_source",
]

FileFormat = Literal["columns", "ipinyou", "google-ads", "meta", "mapped"]

_LOOK_AT_LINES = 60  # for the header, the separator and the decimal mark
_HEADER_WITHIN = 15
_DELIMITERS = (",", "\t", ";", "|")
_DAY_FORMS = ("%B %d, %Y", "%b %d, %Y", "%d %B %Y", "%d %b %Y", "%Y-%m-%d", "%d.%m.%Y")
_TOTALS = re.compile(r"(?:Grand )?Totals?(?:\s*[:–-].*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RowSource:
    """A file that is ready to be read."""

    name: str
    mapping: ImportMapping
    columns: LogColumns
    rows: Callable[[], Iterator[FileRows]]
    stored_as: str = ""  # the source of its rows in a store
    period: tuple[date, date] | None = None  # that the lines above the header state


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the rows of a text file begin, and how its fields are separated."""

    header: list[str]
    header_lines: int  # to skip, all lines above the header included
    delimiter: str
    above: list[str]


def open_file(path: Path, file_format: FileFormat, mapping: ImportMapping | None = None) -> RowSource:
    """Check the file, find its columns, and refuse it if a needed one is missing."""
    parquet = path.suffix.lower() == ".parquet"
    check_log_file(path, parquet=parquet)
    if mapping is None and file_format in {"columns", "ipinyou"}:
        mapping = AUCTION_COLUMNS if file_format == "columns" else IPINYOU
    if parquet:
        return _parquet_source(path, mapping or _known(path, pq.read_schema(path).names, ()))
    if mapping is not None and mapping.names:
        return _headless_source(path, mapping)
    lines = first_lines(path, _LOOK_AT_LINES)
    if not any(line.strip() for line in lines):
        raise DataError(f"{path.name} has blank lines only; allowed: at least one row. Export the log again.")
    layout = _layout(lines, mapping)
    if mapping is None:
        fields = [field for line in lines[layout.header_lines :] for field in _split(line, layout.delimiter)]
        mapping = _known(path, layout.header, fields)
    return _text_source(path, mapping, layout)


def guess_mapping(path: Path) -> ImportMapping:
    """A mapping by the names in the header, for a person to complete."""
    if path.suffix.lower() == ".parquet":
        check_log_file(path, parquet=True)
        return _known(path, pq.read_schema(path).names, ())
    return open_file(path, "mapped").mapping


def named_after_content(source: RowSource, path: Path) -> RowSource:
    """The source with the name its rows are stored under: the file's, and a part of the hash of its content."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return replace(source, stored_as=f"import:{redact_text(path.stem)}-{digest[:8]}")


def frame_source(frame: pd.DataFrame, name: str, mapping: ImportMapping, first_line: int = 1) -> RowSource:
    """The rows of a data frame; `first_line` is the number of its first row in messages."""
    header = [str(column) for column in frame.columns]
    columns = match_columns(header, name, needed=mapping.needed, optional=mapping.optional)
    return RowSource(name, mapping, columns, lambda: iter([_typed_rows(frame, columns, first_line)]))


def table_source(
    tables: Callable[[], Iterable[pa.Table]],
    names: Sequence[str],
    name: str,
    mapping: ImportMapping,
    *,
    stored_as: str = "",
) -> RowSource:
    """The rows of Arrow tables, such as the result of a query."""
    columns = match_columns(names, name, needed=mapping.needed, optional=mapping.optional)

    def rows() -> Iterator[FileRows]:
        first_line = 1
        for table in tables():
            for start in range(0, len(table), ROWS_AT_ONCE):
                part = table.slice(start, ROWS_AT_ONCE).to_pandas()
                yield _typed_rows(part, columns, first_line)
                first_line += len(part)

    return RowSource(name, mapping, columns, rows, stored_as)


def _known(path: Path, header: Sequence[str], sample: Iterable[str]) -> ImportMapping:
    mapping = report_mapping(header, sample)
    if mapping is None:
        raise DataError(
            f"{path.name}: no known columns; seen: {', '.join(header) or 'none'}. Give a mapping file (--mapping);"
            " docs/import.md shows one."
        )
    return mapping


def _layout(lines: Sequence[str], mapping: ImportMapping | None) -> _Layout:
    """Find the header: the line with most of the wanted names, by whichever separator gives most of them."""
    delimiters = _DELIMITERS if mapping is None or mapping.delimiter is None else (mapping.delimiter,)
    wanted = set() if mapping is None else set(map(str.lower, (*mapping.needed, *mapping.optional)))
    within = [number for number, line in enumerate(lines[:_HEADER_WITHIN]) if line.strip()]

    def score(place: tuple[int, str]) -> tuple[int, int]:
        names = [name.strip() for name in _split(lines[place[0]], place[1])]
        matches = sum(name.lower() in wanted for name in names) if wanted else known_columns(names)
        return matches, -place[0]

    if mapping is not None and mapping.delimiter is not None and not mapping.has_totals:
        number, delimiter = within[0], str(mapping.delimiter)  # a plain table: its first line is the header
    else:
        number, delimiter = max(((number, mark) for number in within for mark in delimiters), key=score)
    header = [name.strip() for name in _split(lines[number], delimiter)]
    return _Layout(header, number + 1, delimiter, list(lines[:number]))


def _split(line: str, delimiter: str) -> list[str]:
    """The fields of a line; none where it is no row, for then it is no header either."""
    with suppress(csv.Error):
        return next(csv.reader([line], delimiter=delimiter), [])
    return []


def _text_source(path: Path, mapping: ImportMapping, layout: _Layout) -> RowSource:
    columns = match_columns(layout.header, path.name, needed=mapping.needed, optional=mapping.optional)
    names = [columns.read_as.get(name, "") for name in layout.header]

    def rows() -> Iterator[FileRows]:
        for some in text_rows(
            path, delimiter=layout.delimiter, width=len(names), quoted=mapping.quoted, skip_lines=layout.header_lines
        ):
            yield _text_frame(some, names, mapping)

    return RowSource(path.name, mapping, columns, rows, period=_period(layout.above))


def _headless_source(path: Path, mapping: ImportMapping) -> RowSource:
    """A file whose columns are known by their place; more columns may follow, and a header is allowed."""
    delimiter = mapping.delimiter or ","
    first = next((line for line in first_lines(path, _LOOK_AT_LINES) if line.strip()), None)
    if first is None:
        raise DataError(f"{path.name} has blank lines only; allowed: at least one row. Export the log again.")
    fields = first.split(delimiter)
    width = max(len(fields), len(mapping.names))
    if len(mapping.names) > 3 and len(fields) < len(mapping.names):
        raise DataError(
            f"{path.name}: saw {len(fields)} columns; a row of this format has at least {len(mapping.names)},"
            " separated by tabs. Give the raw log, or use a CSV with the declared columns."
        )
    if len(mapping.names) <= 3:
        width = len(mapping.names)
    names = [*mapping.names, *[""] * (width - len(mapping.names))]
    has_header = fields[0] == mapping.names[0]

    def rows() -> Iterator[FileRows]:
        for some in text_rows(
            path, delimiter=delimiter, width=width, quoted=mapping.quoted, skip_lines=int(has_header)
        ):
            yield _text_frame(some, names, mapping)

    return RowSource(path.name, mapping, LogColumns(), rows)


def _text_frame(rows: TextRows, names: Sequence[str], mapping: ImportMapping) -> FileRows:
    """The mapped columns as text, so that a bad value can be shown as it is in the file."""
    wanted = {*mapping.needed, *mapping.optional}
    empty = [""] * len(names)
    columns = list(zip(*(fields or empty for fields in rows.fields), strict=True))
    # One object array a column: pandas would look through lists of text for other types.
    frame = pd.DataFrame(
        {name: pd.Series(columns[place], dtype="str") for place, name in enumerate(names) if name in wanted}
    )
    totals = _totals(rows, frame, mapping) if mapping.has_totals else None
    return FileRows(frame, rows.line, rows.texts.__getitem__, lambda: rows.texts, rows.faults, totals)


def _totals(rows: TextRows, frame: pd.DataFrame, mapping: ImportMapping) -> Bools:
    """Lines of totals: named so in their first field, or without any of the names that every row has."""
    named = np.array([bool(fields) and bool(_TOTALS.fullmatch(fields[0].strip())) for fields in rows.fields])
    keys = [mapping.columns[name].column for name in ("at", "campaign", "keyword") if name in mapping.columns]
    present = [key for key in keys if key in frame]
    nameless = (frame[present] == "").all(axis=1).to_numpy(bool) if len(present) > 1 else np.zeros(len(frame), bool)
    return np.asarray(named | nameless)


def _typed_rows(frame: pd.DataFrame, columns: LogColumns, first_line: int) -> FileRows:
    """Rows that all have their columns; their text is JSON."""
    frame = frame.reset_index(drop=True).rename(columns=dict(columns.read_as))

    def text_of(row: int) -> str:
        return str(
            frame.iloc[[row]].to_json(orient="records", lines=True, date_format="iso", default_handler=str)
        ).strip()

    def contents() -> list[str]:
        plain = frame.apply(lambda column: column if column.dtype.kind in "biufM" else column.astype(str))
        return [format(code, "x") for code in pd.util.hash_pandas_object(plain, index=False)]

    return FileRows(frame, np.arange(len(frame)) + first_line, text_of, contents)


def _parquet_source(path: Path, mapping: ImportMapping) -> RowSource:
    def damaged(problem: Exception) -> DataError:
        return DataError(f"{path.name} cannot be read as Parquet: {str(problem).rstrip('. ')}. Export it again.")

    try:
        names = pq.read_schema(path).names
        columns = match_columns(names, path.name, needed=mapping.needed, optional=mapping.optional)
    except (OSError, pa.ArrowException) as problem:
        raise damaged(problem) from problem

    def rows() -> Iterator[FileRows]:
        first_line = 1
        try:
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(ROWS_AT_ONCE, columns=list(columns.read_as)):
                    yield _typed_rows(batch.to_pandas(), columns, first_line)
                    first_line += len(batch)
        except (OSError, pa.ArrowException) as problem:
            raise damaged(problem) from problem

    return RowSource(path.name, mapping, columns, rows)


def _period(lines: Sequence[str]) -> tuple[date, date] | None:
    """The first and last day of a report, from a line such as "January 1, 2024 - January 31, 2024"."""
    for line in lines:
        days = [_day(part.strip(' ",;\t')) for part in re.split(r"\s[-–]\s", line)]
        if len(days) == 2 and days[0] is not None and days[1] is not None:
            return days[0], days[1]
    return None


def _day(text: str) -> date | None:
    for form in _DAY_FORMS:
        with suppress(ValueError):
            return datetime.strptime(text, form).date()  # noqa: DTZ007 - a day has no zone
    return None
