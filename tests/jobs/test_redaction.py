"""What leaves the machine has allowed columns only, and identifiers that cannot be read back."""

from datetime import UTC, datetime

import pyarrow as pa

from gaelp.jobs.redaction import WITHHELD, allowed_columns, redact_stored
from gaelp.storage.schema import TABLES, TableName

KEY = b"0123456789abcdef"


def test_only_columns_of_the_schema_without_free_text_are_kept():
    for name, table in TABLES.items():
        assert allowed_columns(name) == set(table.columns.names) - WITHHELD


def test_identifiers_are_hashed_alike_and_text_is_cleaned():
    row = {"id": "k1", "at": datetime(2026, 1, 1, tzinfo=UTC), "phase": "pilot", "source": "s", "cost_micros": 1}
    rows = [{**row, "campaign": "spring for ann@example.org", "auction": "x", "email": "ann@example.org"}] * 2
    table = redact_stored(TableName.CLICKS, pa.Table.from_pylist(rows), KEY)
    assert "email" not in table.column_names
    assert "example.org" not in str(table.to_pylist())
    assert len(set(table["auction"].to_pylist())) == 1
    assert table["auction"][0].as_py() != "x"
