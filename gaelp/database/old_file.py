"""The rows of a store's local file, copied once into the PostgreSQL that its home names now.

Violations, decisions and reviews used to stay in the home even where the ledger was in PostgreSQL. They still count: an
open violation that nobody sees lets money go. Rows that are there already are not copied again, so whoever is
interrupted before the file was renamed repeats it, and two who do it at once copy each row once.
"""

from collections import defaultdict
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from sqlalchemy import Column, Connection, MetaData, RowMapping, Table, insert, select

from gaelp.errors import Refused

__all__ = ["copy_rows", "imported_name", "put_aside"]

_Row = dict[str, Any]
_Numbers = dict[Column[Any], dict[Any, Any]]  # of a numbered column: the number in the file, and the one it has now

_ANSWER = "choice"  # of people: there is one to each question
_BESIDE = ("-wal", "-shm", ".head", "")  # what belongs to a file, the file itself last


def copy_rows(file: Path, source: Connection, target: Connection, metadata: MetaData) -> list[str]:
    """Add what the target lacks, parents first; what the source, this file, holds in each table, for the log.

    Rows are found by their key, numbered ones by everything else: a number may be in use for another machine's row.
    """
    numbers: _Numbers = {}
    held: list[str] = []
    for table in metadata.sorted_tables:
        rows = source.execute(select(table).order_by(*table.primary_key)).mappings()
        current = [_with_new_numbers(row, table, numbers) for row in rows]
        numbered = ""
        if (number := table.autoincrement_column) is None:
            _add_by_key(target, table, current, file)
        else:
            numbers[number] = now = _add_numbered(target, table, number.name, current)
            numbered = f" (now numbered {min(now.values())} to {max(now.values())})" if now else ""
        if current:
            held.append(f"{len(current)} rows of {table.name}{numbered}")
    return held


def imported_name(path: Path) -> Path:
    """What a file is called after its rows were copied."""
    return path.with_name(f"{path.name}.imported")


def put_aside(path: Path) -> Path:
    """Rename a file whose rows were copied, with what is beside it; it stays as evidence, and replaces nothing."""
    first = imported_name(path)
    names = (first if number == 1 else first.with_name(f"{first.name}-{number}") for number in count(1))
    kept = next(name for name in names if not name.exists())
    for end in _BESIDE:
        with suppress(FileNotFoundError):
            path.with_name(path.name + end).rename(kept.with_name(kept.name + end))
    return kept


def _with_new_numbers(row: RowMapping, table: Table, numbers: _Numbers) -> _Row:
    values = {column.name: row[column.name] for column in table.columns}
    for column in table.columns:
        for key in column.foreign_keys:
            if key.column in numbers:
                values[column.name] = numbers[key.column][values[column.name]]
    return values


def _add_by_key(target: Connection, table: Table, rows: list[_Row], file: Path) -> None:
    keys = [column.name for column in table.primary_key]
    present = {tuple(row[key] for key in keys): row for row in target.execute(select(table)).mappings()}
    for row in rows:
        name = tuple(row[key] for key in keys)
        if name not in present:
            target.execute(insert(table).values(row))
        elif present[name].get(_ANSWER) != row.get(_ANSWER):
            raise Refused(
                f"{table.name} {' '.join(map(str, name))} is {row[_ANSWER]!r} in {file} and {present[name][_ANSWER]!r}"
                " in PostgreSQL; allowed: one answer. Nothing was imported: if PostgreSQL is to count, rename the file"
                f" to {imported_name(file).name}"
            )


def _add_numbered(target: Connection, table: Table, number: str, rows: list[_Row]) -> dict[int, int]:
    """The number each row has in the target; of equal rows each one in the file has one there."""
    unnumbered = [column.name for column in table.columns if column.name != number]
    present = defaultdict(list)
    for there in target.execute(select(table).order_by(table.c[number].desc())).mappings():
        present[tuple(there[name] for name in unnumbered)].append(there[number])
    numbers = {}
    for row in rows:
        values = {name: row[name] for name in unnumbered}
        same = present[tuple(values.values())]
        added = insert(table).values(values).returning(table.c[number])
        numbers[row[number]] = same.pop() if same else target.execute(added).scalar_one()
    return numbers
