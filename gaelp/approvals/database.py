"""The database of approvals and audit log: one writer at a time, and tables whose rows are never changed.

No second writer can begin before the first has committed, so a chain cannot fork and an approval cannot be used twice.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, LiteralString

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Connection,
    CursorResult,
    ForeignKey,
    Index,
    MetaData,
    Table,
    Text,
)

import gaelp.database as layer
from gaelp.config.settings import Settings
from gaelp.database.append_only import add_walls
from gaelp.errors import Refused

__all__ = ["STORE", "ApprovalDatabase", "ApprovalsDamaged", "Session", "approvals_place", "is_begun", "open_database"]


class ApprovalsDamaged(layer.DatabaseDamaged, Refused):
    """The record of approvals is not whole, so nothing is allowed by it."""

    exit_code = 3


def _text(name: str, *more: Any, **options: Any) -> Column[str]:
    return Column(name, Text, *more, nullable=False, **options)


_metadata = MetaData()
_TABLES = (
    Table("requests", _metadata, _text("action_hash", primary_key=True), _text("body")),
    Table(
        "approvals",
        _metadata,
        _text("nonce", primary_key=True),
        _text("action_hash", ForeignKey("requests.action_hash")),
        _text("body"),
    ),
    Table(
        "uses",
        _metadata,
        _text("action_hash", ForeignKey("requests.action_hash"), primary_key=True),
        _text("consumer"),
        _text("body"),
    ),
    Table(
        "used_nonces",
        _metadata,
        _text("nonce", ForeignKey("approvals.nonce"), primary_key=True),
        _text("action_hash", ForeignKey("uses.action_hash")),
    ),
    Table(
        "audit",
        _metadata,
        Column("seq", BigInteger, CheckConstraint("seq >= 0"), primary_key=True, autoincrement=False),
        *(_text(name) for name in ("at", "kind", "body")),
        *(_text(name, unique=True) for name in ("previous_hash", "hash")),
        Index("audit_kind", "kind"),
    ),
)
_APPEND_ONLY = tuple(table.name for table in _TABLES)


def _wall_postgres(connection: Connection) -> None:
    """Version 1 had its triggers on SQLite only."""
    if connection.dialect.name == "postgresql":
        add_walls(connection, _APPEND_ONLY)


STORE = layer.Store(
    title="the record of approvals",
    file_name="approvals.db",
    lock_key=0x6761_656C_7001,
    schema=layer.Schema(
        "approvals", _metadata, old_tables=_APPEND_ONLY, upgrades=(_wall_postgres,), append_only=_APPEND_ONLY
    ),
    meanwhile="it was not written to, and nothing is allowed by it",
    verify_command="gaelp audit verify",
    absent=Refused,
    if_absent="there is no audit log in it, and it is not made again here, for that would hide what was lost. Stop"
    " spending (`gaelp kill`), keep this database as evidence, and restore a copy that is whole",
    damaged=ApprovalsDamaged,
)


class Session:
    """One transaction; parameters are written as ?."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def execute(self, sql: LiteralString, parameters: Sequence[str | int] = (), /) -> CursorResult[Any]:
        """Run one statement."""
        written = sql.replace("?", "%s") if self.connection.dialect.name == "postgresql" else sql
        return self.connection.exec_driver_sql(written, tuple(parameters))


class ApprovalDatabase:
    """Opens transactions on approvals and audit log."""

    def __init__(self, database: layer.Database) -> None:
        self._database = database

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A Session that sees one state of the database."""
        with self._database.reading() as connection:
            yield Session(connection)

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """The only Session that writes; it commits at the end, and rolls back what raises."""
        with self._database.writing() as connection:
            yield Session(connection)

    def missing_walls(self) -> tuple[str, ...]:
        """The triggers that keep rows from being changed and are missing."""
        return self._database.missing_walls()


def approvals_place(settings: Settings) -> layer.Place:
    """Where approvals and audit log live."""
    return layer.place_of(settings, STORE.file_name)


def open_database(place: layer.Place, *, create: bool = True) -> ApprovalDatabase:
    """The database at a path or at the URL of a PostgreSQL; missing tables are made unless `create` is False."""
    return ApprovalDatabase(layer.open_database(place, STORE, create=create))


def is_begun(place: layer.Place) -> bool:
    """Whether there is a file, or in a PostgreSQL any of the tables; creates nothing."""
    return (isinstance(place, Path) and place.exists()) or layer.has_store(place, STORE)
