"""Read a whole file into one table of the schema, for those who use it at once instead of storing it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any

import pyarrow as pa

from gaelp.importing.bad_rows import BadRow, BadRows, BadRowTally
from gaelp.importing.conversion import RowConversion
from gaelp.importing.header import LogColumns
from gaelp.importing.row_source import RowSource
from gaelp.storage.schema import empty_table

__all__ = ["WholeTable", "read_whole"]

_SET_ASIDE = "Correct these rows, or set them aside with --skip-bad-rows FILE (at most 10%)."
_CONSTANTS: Mapping[str, Any] = {"id": "", "phase": "history", "source": "", "campaign": ""}  # nothing is stored


@dataclass(frozen=True, slots=True)
class WholeTable:
    """The good rows of a file, the bad ones where these were set aside, and what became of its columns."""

    table: pa.Table
    columns: LogColumns
    mapped: frozenset[str]  # columns of the table that the file has
    skipped: BadRows | None


def read_whole(
    source: RowSource, *, zone: tzinfo | None = None, skip_bad_rows: bool = False, remedy: str = _SET_ASIDE
) -> WholeTable:
    """Read and check every row; a bad row is an error, or with `skip_bad_rows` set aside, up to a tenth of the rows."""
    tally, bad, hints = BadRowTally(source.name), list[BadRow](), dict[str, None]()
    tables = [empty_table(source.mapping.table)]
    for rows in source.rows():
        converted = RowConversion(rows, source.mapping, _CONSTANTS, zone).run()
        tally.add(converted.check)
        bad += converted.check.bad_rows(rows.text_of) if skip_bad_rows else []
        hints |= dict.fromkeys(converted.hints)
        tables.append(converted.table)
    if tally.too_many or not skip_bad_rows:
        tally.raise_if_bad(remedy="\n".join([*hints, tally.too_many or remedy]))
    skipped = tally.set_aside(bad) if skip_bad_rows else None
    present = {*source.columns.read_as.values(), *source.mapping.names}
    mapped = {name for name, column in source.mapping.columns.items() if column.column in present or not column.column}
    return WholeTable(pa.concat_tables(tables), source.columns, frozenset(mapped), skipped)
