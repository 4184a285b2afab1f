"""Which columns of each stored table may leave the machine, and the table with everything else removed or hashed."""

import pyarrow as pa

from gaelp.importing.redaction import redact_table
from gaelp.storage.schema import TABLES, TableName

__all__ = ["WITHHELD", "allowed_columns", "redact_stored"]

# Free text and what nobody needs outside: errors may quote anything, and a search may be a person's name.
WITHHELD = frozenset({"reason", "keyword"})


def allowed_columns(name: TableName) -> frozenset[str]:
    """The columns that are kept; a column that the schema does not have is never among them."""
    return frozenset(TABLES[name].columns.names) - WITHHELD


def redact_stored(name: TableName, table: pa.Table, key: bytes) -> pa.Table:
    """The allowed columns, with identifiers as keyed hashes and personal data replaced in the text that remains."""
    return redact_table(table, allowed_columns(name), key)
