"""Screen rows before a job uses them: invalid ones become dead letters with a reason, older revisions are dropped."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from gaelp.errors import DataError
from gaelp.storage.schema import TABLES, TableName

__all__ = [
    "DEAD_LETTERS",
    "ScreenedRows",
    "conform_table",
    "dead_letters",
    "join_tables",
    "keep_newest",
    "keep_valid",
    "not_finite",
]

DEAD_LETTERS = pa.schema(
    [
        pa.field("table", pa.string(), nullable=False),
        pa.field("id", pa.string()),
        pa.field("campaign", pa.string()),
        pa.field("at", pa.timestamp("us", tz="UTC")),
        pa.field("reason", pa.string(), nullable=False),
    ]
)
"""A row that a job did not use. It holds no values of the row but its keys, so that nothing private can leak here."""


class ScreenedRows(NamedTuple):
    """The rows that a job may use, and the dead letters of the others."""

    valid: pa.Table
    dead: pa.Table


def conform_table(table: pa.Table, name: TableName, columns: Sequence[str] | None = None) -> pa.Table:
    """These columns of a stored table, in the types of the schema; DataError names the first that does not fit."""
    schema = TABLES[name].columns
    arrays = []
    fields = [schema.field(column) for column in columns or schema.names]
    for field in fields:
        if field.name in table.column_names:
            arrays.append(_cast(table.column(field.name), field, name))
        elif field.nullable:
            arrays.append(pa.nulls(table.num_rows, field.type))
        else:
            raise DataError(f"{name}: the column {field.name} is missing: write the table with the schema of GAELP")
    nullable = [field.with_nullable(True) for field in fields]  # a null in a required column is a dead letter later
    return pa.table(arrays, schema=pa.schema(nullable))


def _cast(values: pa.ChunkedArray, field: pa.Field, name: TableName) -> pa.ChunkedArray:
    try:
        return values.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(
            f"{name}: the column {field.name} is {values.type} and cannot become {field.type}: convert it first"
        ) from error


def not_finite(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whether each number is NaN or infinite; null where there is none."""
    return pc.invert(pc.is_finite(values))


def keep_valid(name: TableName, table: pa.Table, problems: Mapping[str, pa.ChunkedArray]) -> ScreenedRows:
    """Split rows by problem: each mask marks the rows that have it, and the first problem of a row is its reason."""
    reasons = pa.nulls(table.num_rows, pa.string())
    for reason, mask in reversed(list(problems.items())):
        reasons = pc.if_else(pc.fill_null(mask, False), pa.scalar(reason), reasons)
    invalid = pc.is_valid(reasons)
    if not pc.any(invalid).as_py():
        return ScreenedRows(table, DEAD_LETTERS.empty_table())
    rejected, why = table.filter(invalid), reasons.drop_null()
    return ScreenedRows(table.filter(pc.invert(invalid)), dead_letters(name, rejected, why))


def dead_letters(name: TableName, rows: pa.Table, reason: str | pa.Array | pa.ChunkedArray) -> pa.Table:
    """The dead letters of rows."""
    reasons = pa.array([reason] * rows.num_rows, pa.string()) if isinstance(reason, str) else reason
    arrays = [
        pa.array([name.value] * rows.num_rows, pa.string()),
        *(
            rows.column(field.name) if field.name in rows.column_names else pa.nulls(rows.num_rows, field.type)
            for field in list(DEAD_LETTERS)[1:-1]
        ),
        reasons,
    ]
    return pa.table(arrays, schema=DEAD_LETTERS)


def keep_newest(table: pa.Table, keys: Sequence[str], order: Sequence[tuple[str, str]]) -> pa.Table:
    """The first row of each key in this order (`ascending` or `descending` columns), in the order of the keys."""
    if table.num_rows == 0:
        return table
    ordered = table.sort_by([*((key, "ascending") for key in keys), *order])
    numbered = ordered.select(list(keys)).append_column("row", pa.array(range(ordered.num_rows), pa.int64()))
    firsts = numbered.group_by(list(keys), use_threads=False).aggregate([("row", "min")]).column("row_min")
    if len(firsts) == ordered.num_rows:
        return ordered
    return ordered.take(firsts)


def join_tables(tables: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    """All rows in one table; an empty one of the schema without any."""
    return pa.concat_tables(tables) if tables else schema.empty_table()
