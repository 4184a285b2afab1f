"""Generated decisions fit the schema, are as many as asked for, and have unique ids."""

import numpy as np

from gaelp.bench.decision_rows import ROWS_PER_DAY, decision_days
from gaelp.storage.schema import TABLES, TableName


def test_whole_days_and_a_part_of_the_last():
    days = list(decision_days(ROWS_PER_DAY + 100, np.random.default_rng(1)))
    assert [table.num_rows for _, table in days] == [ROWS_PER_DAY, 100]
    assert all(table.schema == TABLES[TableName.DECISIONS].columns for _, table in days)
    ids = [name for _, table in days for name in table["id"].to_pylist()]
    assert len(set(ids)) == len(ids)
