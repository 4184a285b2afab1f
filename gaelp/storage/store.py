"""The interface of a store of episode data, and what a reader may ask of it."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import NamedTuple, Protocol, Self

import pyarrow as pa
from pydantic import AwareDatetime, model_validator

from gaelp.config.base import Frozen
from gaelp.errors import BadInput
from gaelp.storage.schema import TABLES, TableName
from gaelp.types import Phase

__all__ = [
    "APPEND_ROWS_MAX",
    "SCAN_ROWS",
    "Appended",
    "EpisodeStore",
    "RowFilter",
    "StoredPart",
    "check_columns",
    "check_hold",
]

SCAN_ROWS = 250_000  # the most rows of one scanned table: Beam elements of this size are fastest
APPEND_ROWS_MAX = 5_000_000  # of one append, over all its tables


class RowFilter(Frozen):
    """Which rows a reader wants; an empty tuple asks for all."""

    since: AwareDatetime | None = None  # inclusive
    until: AwareDatetime | None = None  # exclusive
    phases: tuple[Phase, ...] = ()
    sources: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    campaigns: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _window_is_not_empty(self) -> Self:
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise ValueError(f"since={self.since} is not before until={self.until}: no row could match; swap them")
        return self


class Appended(NamedTuple):
    """The result of an append: rows stored now, and rows whose id was stored before."""

    stored: int
    already_stored: int


class StoredPart(NamedTuple):
    """What is stored of one table, phase, source and day."""

    table: TableName
    phase: Phase
    source: str
    day: date
    rows: int
    bytes: int


class EpisodeStore(Protocol):
    """Keeps the tables of `gaelp.storage.schema`; `gaelp.storage.conformance` checks an implementation."""

    def append(self, batch: Mapping[TableName, pa.Table]) -> Appended:
        """Store all rows of all tables, or none of them if it fails or the process dies.

        A row whose id is stored already is skipped, so a failed append can be repeated; an id belongs to one `at`, so
        it is looked for on the days of the new rows. DataError names the first row that does not fit the schema. Safe
        under concurrent writers.
        """
        ...

    def scan(
        self, table: TableName, rows: RowFilter | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[pa.Table]:
        """Yield the matching rows in tables of at most SCAN_ROWS rows, ordered by day; memory stays bounded."""
        ...

    def describe(self) -> Sequence[StoredPart]:
        """Return what is stored, sorted by table, phase, source and day."""
        ...

    def hold(self, source: str, reason: str) -> None:
        """Put a legal hold on what a run or import wrote: retention keeps it until `release_hold`."""
        ...

    def release_hold(self, source: str) -> None:
        """End a legal hold."""
        ...

    def holds(self) -> Mapping[str, str]:
        """Return the reason of each legal hold, by source."""
        ...

    def remove_before(self, day: date, tables: Sequence[TableName], phases: Sequence[Phase] = tuple(Phase)) -> int:
        """Delete the rows of these tables and phases from before this day, except those under a legal hold.

        Return how many were deleted.
        """
        ...

    def close(self) -> None:
        """Release files and connections."""
        ...


def check_columns(table: TableName, columns: Sequence[str] | None) -> tuple[str, ...]:
    """Return the columns asked for, all where none are named; BadInput names those that the table lacks."""
    known = TABLES[table].columns.names
    unknown = [column for column in columns or () if column not in known]
    if unknown:
        raise BadInput(f"{table} has no column {', '.join(unknown)}; it has {', '.join(known)}")
    return tuple(columns or known)


def check_hold(source: str, reason: str) -> None:
    """Refuse a hold that nobody could explain later."""
    if not source.strip() or not reason.strip():
        raise BadInput(f"a legal hold needs a source and a reason; saw source {source!r}, reason {reason!r}")
