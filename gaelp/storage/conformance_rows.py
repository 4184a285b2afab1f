"""Small batches of rows for the checks of a store: whole episodes, and one row of every table."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from gaelp.storage.schema import TABLES, TableName

__all__ = ["FIRST_HOUR", "episode_batch", "one_row_of_each", "rows_of"]

FIRST_HOUR = datetime(2026, 3, 1, 22, tzinfo=UTC)


def rows_of(name: TableName, *rows: Mapping[str, Any]) -> pa.Table:
    """Return rows as a table of the schema; what a row does not give is null, and common columns have defaults."""
    defaults = {"at": FIRST_HOUR, "phase": "simulation", "source": "run-1", "campaign": "spring"}
    schema = TABLES[name].columns
    return pa.Table.from_pylist([{**defaults, **row} for row in rows], schema=schema)


def episode_batch(
    episodes: int, *, source: str = "run-1", first: int = 0, steps: int = 4, start: datetime = FIRST_HOUR
) -> dict[TableName, pa.Table]:
    """Return finished episodes with one decision an hour; they begin before midnight, so each has rows on two days."""
    names = [f"{source}/{first + number}" for number in range(episodes)]
    ends = [
        {
            "id": f"{name}/finished",
            "at": start + timedelta(hours=steps),
            "source": source,
            "policy": "mpc@1",
            "episode": name,
            "state": "finished",
            "started_at": start,
            "ended_at": start + timedelta(hours=steps),
            "steps": steps,
            "seed": number,
            "reward": 0.75,
        }
        for number, name in enumerate(names)
    ]
    hours = [
        {
            "id": f"{name}/{step}/a",
            "at": start + timedelta(hours=step),
            "source": source,
            "policy": "mpc@1",
            "episode": name,
            "step": step,
            "segment": "a",
            "bid_micros": 250_000 + step,
            "spend_micros": 0,
        }
        for name in names
        for step in range(steps)
    ]
    return {
        TableName.EPISODES: rows_of(TableName.EPISODES, *ends),
        TableName.DECISIONS: rows_of(TableName.DECISIONS, *hours),
    }


def one_row_of_each() -> dict[TableName, pa.Table]:
    """Return one row of every table, with a value in every column."""
    return {name: pa.Table.from_pylist([_full_row(name)], schema=TABLES[name].columns) for name in TableName}


def _full_row(name: TableName) -> dict[str, Any]:
    row = {field.name: _value(field) for field in TABLES[name].columns}
    allowed = {"phase": "pilot", "state": "terminated", "density_kind": "recorded", "kind": "charge"}
    return row | {column: value for column, value in allowed.items() if column in row}


def _value(field: pa.Field) -> Any:
    if pa.types.is_timestamp(field.type):
        return FIRST_HOUR + timedelta(microseconds=123_457)
    if pa.types.is_date(field.type):
        return FIRST_HOUR.date()
    if pa.types.is_boolean(field.type):
        return True
    if pa.types.is_floating(field.type):
        return 0.1
    return 7 if pa.types.is_integer(field.type) else f'a {field.name}; it\'s "quoted" — ünïcode,\nand `DROP TABLE x`'
