"""Bring tables that an earlier release wrote to the schema of this one, one version at a time."""

from collections.abc import Callable, Mapping

import pyarrow as pa

from gaelp.errors import DataError
from gaelp.storage.schema import SCHEMA_VERSION, TABLES, TableName

__all__ = ["MIGRATIONS", "Migration", "check_version", "migrated"]

Migration = Callable[[TableName, pa.Table], pa.Table]


def _unchanged(_: TableName, table: pa.Table) -> pa.Table:
    """The version added tables and changed none of the earlier ones."""
    return table


# Version N -> the function that makes version N+1 of it. Version 1 is the first.
MIGRATIONS: Mapping[int, Migration] = {1: _unchanged}


def check_version(version: int, where: str, migrations: Mapping[int, Migration] = MIGRATIONS) -> None:
    """Raise DataError if this release cannot read what is stored at `where`."""
    if version > SCHEMA_VERSION:
        raise DataError(
            f"{where} has schema version {version}, this gaelp reads up to {SCHEMA_VERSION}: use the gaelp that wrote"
            " it, or a newer one"
        )
    missing = [number for number in range(version, SCHEMA_VERSION) if number not in migrations]
    if missing:
        raise DataError(
            f"{where} has schema version {version}, and this gaelp has no migration from version {missing[0]}: read it"
            " with the release that wrote it"
        )


def migrated(
    name: TableName, table: pa.Table, version: int, migrations: Mapping[int, Migration] = MIGRATIONS
) -> pa.Table:
    """Return rows of an earlier version with the columns of this one."""
    for number in range(version, SCHEMA_VERSION):
        table = migrations[number](name, table)
    schema = TABLES[name].columns
    return table.select(schema.names).cast(schema)
