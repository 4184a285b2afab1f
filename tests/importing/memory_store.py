"""A store that keeps everything in memory."""

import pyarrow as pa
import pyarrow.compute as pc

from gaelp.storage.row_check import check_batch
from gaelp.storage.store import Appended


class MemoryStore:
    def __init__(self):
        self.tables = {}

    def append(self, batch):
        given = sum(table.num_rows for table in batch.values())
        stored = 0
        for name, table in check_batch(batch).items():
            before = self.tables.get(name)
            new = table if before is None else table.filter(pc.invert(pc.is_in(table["id"], before["id"])))
            self.tables[name] = new if before is None else pa.concat_tables([before, new])
            stored += new.num_rows
        return Appended(stored, given - stored)

    def scan(self, table, rows=None, columns=None):
        rows_stored = self.tables.get(table)
        return iter(() if rows_stored is None else [rows_stored if columns is None else rows_stored.select(columns)])

    def close(self):
        pass
