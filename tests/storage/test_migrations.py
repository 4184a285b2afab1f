"""Migrations run one version after the other."""

import pytest

from gaelp.errors import DataError
from gaelp.storage.conformance_rows import one_row_of_each
from gaelp.storage.migrations import MIGRATIONS, check_version, migrated
from gaelp.storage.schema import SCHEMA_VERSION, TableName


def test_every_version_before_this_one_has_a_migration():
    assert set(MIGRATIONS) == set(range(1, SCHEMA_VERSION))


def test_migrations_run_in_order_and_end_with_the_columns_of_today():
    name, table = TableName.CLICKS, one_row_of_each()[TableName.CLICKS]
    steps = []

    def step(number):
        def migrate(_, rows):
            steps.append(number)
            return rows

        return migrate

    later = {number: step(number) for number in range(-1, SCHEMA_VERSION)}
    assert migrated(name, table, -1, later).equals(table)
    assert steps == list(range(-1, SCHEMA_VERSION))


def test_a_gap_between_versions_is_named():
    with pytest.raises(DataError, match="no migration from version 0: read it with the release that wrote it"):
        check_version(0, "a file", {-1: lambda _, rows: rows})
