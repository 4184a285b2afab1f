"""Check rows against the schema before they are stored; an error names table, row, column, value and expectation."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, get_args

import pyarrow as pa
import pyarrow.compute as pc

from gaelp.errors import BadInput, DataError
from gaelp.storage.schema import TABLES, DensityKind, EpisodeState, SpendKind, TableName
from gaelp.storage.store import APPEND_ROWS_MAX
from gaelp.types import Phase

__all__ = ["check_batch", "check_rows"]

_EARLIEST, _LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
_TYPE_NAMES = {
    "string": "text",
    "int64": "a whole number",
    "int32": "a whole number below 2^31",
    "double": "a finite number",
    "bool": "true or false",
    "date32[day]": "a date",
    "timestamp[us, tz=UTC]": "a time with its time zone",
}
_ALLOWED_VALUES: Mapping[tuple[TableName | None, str], tuple[str, ...]] = {
    (None, "phase"): tuple(Phase),
    (TableName.EPISODES, "state"): tuple(EpisodeState),
    (TableName.DECISIONS, "density_kind"): get_args(DensityKind),
    (TableName.SPEND_EVENTS, "kind"): get_args(SpendKind),
}


def _repeats(ids: pa.ChunkedArray) -> bool:
    return len(pc.unique(ids)) < len(ids)


def check_batch(
    batch: Mapping[TableName, pa.Table], may_repeat: Callable[[pa.ChunkedArray], bool] = _repeats
) -> dict[TableName, pa.Table]:
    """Return the tables with rows in the schema's types, each id once; DataError names the first row that does not fit.

    Columns may be in any order, and those that may be null may be missing. Text that is dictionary-encoded stays so.
    `may_repeat` finds out cheaply whether an id may occur twice; ids are compared one by one only then.
    """
    rows = sum(table.num_rows for table in batch.values())
    if rows > APPEND_ROWS_MAX:
        raise BadInput(f"{rows:,} rows in one append; at most {APPEND_ROWS_MAX:,} are allowed: append them in parts")
    checked = {TableName(name): check_rows(TableName(name), table) for name, table in batch.items()}
    return {
        name: _each_id_once(table) if may_repeat(table.column("id")) else table
        for name, table in checked.items()
        if table.num_rows
    }


def check_rows(name: TableName, table: pa.Table) -> pa.Table:
    """Return the rows of one table in the schema's types; DataError names the first row that does not fit."""
    schema = TABLES[name].columns
    unknown = [column for column in table.column_names if column not in schema.names]
    if unknown or len(set(table.column_names)) != len(table.column_names):
        raise DataError(
            f"{name} has the columns {', '.join(unknown or table.column_names)}; expected each once and only"
            f" {', '.join(schema.names)}: rename or remove the others"
        )
    columns = [_checked_column(name, table, field) for field in schema]
    types = zip(schema, columns, strict=True)
    return pa.table(
        columns, schema=pa.schema([field.with_type(column.type) for field, column in types], schema.metadata)
    )


def _checked_column(name: TableName, table: pa.Table, field: pa.Field) -> pa.ChunkedArray:
    if field.name not in table.column_names:
        if not field.nullable and table.num_rows:
            raise _problem(name, 0, field, "no such column")
        return pa.chunked_array([pa.nulls(table.num_rows, field.type)])
    column = _cast(name, table.column(field.name), field)
    if not field.nullable and column.null_count:
        raise _problem(name, _first(pc.is_null(column)), field, "null")
    wrong = _wrong_values(name, column, field)
    if wrong is not None and (row := _first(wrong)) >= 0:
        raise _problem(name, row, field, column[row].as_py(), _allowed(name, field))
    return column


def _cast(name: TableName, column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    if column.type == field.type or column.type == pa.dictionary(pa.int32(), field.type):
        return column
    if pa.types.is_timestamp(field.type) and pa.types.is_timestamp(column.type) and column.type.tz is None:
        raise _problem(name, 0, field, column[0].as_py() if len(column) else None)
    if pa.types.is_string(field.type) and not _is_text(column.type):
        raise _problem(name, 0, field, column[0].as_py() if len(column) else None)
    try:
        return column.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        row = _first_that_cannot_be_cast(column, field.type)
        raise _problem(name, row, field, column[row].as_py()) from None


def _is_text(kind: pa.DataType) -> bool:
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(
        pa.types.is_string(value)
        or pa.types.is_large_string(value)
        or pa.types.is_string_view(value)
        or pa.types.is_null(value)
    )


def _first_that_cannot_be_cast(column: pa.ChunkedArray, kind: pa.DataType) -> int:
    """Bisect: the rows before `low` can be cast, those up to and with `high` cannot."""
    low, high = 0, len(column) - 1
    while low < high:
        middle = (low + high) // 2
        try:
            column.slice(low, middle - low + 1).cast(kind)
            low = middle + 1
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            high = middle
    return low


def _wrong_values(name: TableName, column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray | None:
    allowed = _values_allowed(name, field)
    if allowed:
        text = column.cast(field.type)
        return pc.and_(pc.is_valid(text), pc.invert(pc.is_in(text, pa.array(allowed, pa.string()))))
    if field.name == "id":
        return pc.equal(column, "")
    if pa.types.is_floating(field.type):
        return pc.invert(pc.is_finite(column))
    if pa.types.is_timestamp(field.type):
        earliest, latest = pa.scalar(_EARLIEST, field.type), pa.scalar(_LATEST, field.type)
        return pc.or_(pc.less(column, earliest), pc.greater_equal(column, latest))
    return None


def _values_allowed(name: TableName, field: pa.Field) -> tuple[str, ...]:
    return _ALLOWED_VALUES.get((name, field.name)) or _ALLOWED_VALUES.get((None, field.name)) or ()


def _allowed(name: TableName, field: pa.Field) -> str | None:
    if values := _values_allowed(name, field):
        return "one of " + ", ".join(values)
    if field.name == "id":
        return "text that is not empty"
    return f"a time from {_EARLIEST:%Y} to {_LATEST:%Y}" if pa.types.is_timestamp(field.type) else None


def _first(flags: pa.ChunkedArray) -> int:
    return int(pc.index(pc.fill_null(flags, False), True).as_py())


def _problem(name: TableName, row: int, field: pa.Field, value: Any, expected: str | None = None) -> DataError:
    wanted = expected or _TYPE_NAMES.get(str(field.type), str(field.type))
    wanted += ", or null" if field.nullable else ", never null"
    meaning = (field.metadata or {}).get(b"meaning", b"").decode()
    return DataError(
        f"{name}, row {row}, column {field.name}: saw {value!r:.200}; expected {wanted} ({meaning}). Nothing of this"
        " append was stored"
    )


def _each_id_once(table: pa.Table) -> pa.Table:
    ids = table.column("id")
    numbered = pa.table({"id": ids, "row": pa.array(range(len(ids)), pa.int64())})
    first = numbered.group_by("id").aggregate([("row", "min")]).column("row_min")
    return table.take(pc.take(first, pc.sort_indices(first)))
