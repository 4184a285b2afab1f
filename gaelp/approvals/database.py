"""One database for approvals and audit log: SQLite by default, PostgreSQL by its URL; one writer at a time.

A transaction is on disk when it has been committed (SQLite: WAL with FULL synchronisation), and no second writer can
begin before that, so a chain cannot fork and an approval cannot be used twice.
"""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, LiteralString, Protocol

from gaelp.config.places import shown
from gaelp.errors import GaelpError

__all__ = ["Database", "Rows", "Session", "open_database"]

_WAIT_SECONDS = 30
_WRITER_LOCK = 0x6761_656C_7001  # any fixed number: whoever writes here holds it
_APPEND_ONLY = ("requests", "approvals", "uses", "used_nonces", "audit")

_SCHEMA: LiteralString = """
CREATE TABLE IF NOT EXISTS requests (
    action_hash TEXT PRIMARY KEY, body TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS approvals (
    nonce TEXT PRIMARY KEY, action_hash TEXT NOT NULL REFERENCES requests, body TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS uses (
    action_hash TEXT PRIMARY KEY REFERENCES requests, consumer TEXT NOT NULL, body TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS used_nonces (
    nonce TEXT PRIMARY KEY REFERENCES approvals, action_hash TEXT NOT NULL REFERENCES uses
);
CREATE TABLE IF NOT EXISTS audit (
    seq BIGINT PRIMARY KEY CHECK (seq >= 0), at TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL,
    previous_hash TEXT NOT NULL UNIQUE, hash TEXT NOT NULL UNIQUE
);
CREATE INDEX IF NOT EXISTS audit_kind ON audit (kind)
"""


class Rows(Protocol):
    """What a query found."""

    def fetchone(self) -> Any:
        """The next row, None after the last."""
        ...

    def fetchall(self) -> list[Any]:
        """All rows that are left."""
        ...

    def __iter__(self) -> Iterator[Any]:
        """Row after row."""
        ...


class Session(Protocol):
    """One transaction; parameters are written as ?."""

    def execute(self, sql: LiteralString, parameters: Sequence[str | int] = (), /) -> Rows:
        """Run one statement."""
        ...


class Database(Protocol):
    """Where transactions come from."""

    def reading(self) -> AbstractContextManager[Session]:
        """A context with a Session that sees one state of the database."""
        ...

    def writing(self) -> AbstractContextManager[Session]:
        """A context with the only Session that writes; it commits at the end, and rolls back what raises."""
        ...


def open_database(place: Path | str) -> Database:
    """The database at a path, or at a URL that begins with postgresql://; tables are made if there are none."""
    database: _Postgres | _SQLite = (
        _Postgres(place) if isinstance(place, str) and _is_url(place) else _SQLite(Path(place))
    )
    database.create()
    return database


def _is_url(place: str) -> bool:
    return place.startswith(("postgresql://", "postgres://"))


class _SQLite:
    """A file; every transaction has a connection of its own, so that forks and threads share nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def create(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._connected() as connection:
            if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'audit_kind'").fetchone():
                return  # made in one transaction: where this is, all of it is, and a reader need not wait for writers
            connection.execute("PRAGMA journal_mode=WAL")
        with self.writing() as session:
            for statement in _SCHEMA.split(";"):
                session.execute(statement)
            for table in _APPEND_ONLY:
                for change in ("UPDATE", "DELETE"):
                    # A second wall against mistakes; against malice there is the chain.
                    session.execute(
                        f"CREATE TRIGGER IF NOT EXISTS {table}_no_{change} BEFORE {change} ON {table}"
                        f" BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
                    )

    @contextmanager
    def reading(self) -> Iterator[Session]:
        with self._connected() as connection:
            connection.execute("BEGIN")
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Session]:
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self._path, timeout=_WAIT_SECONDS, isolation_level=None)) as connection:
                connection.execute("PRAGMA synchronous=FULL")
                connection.execute("PRAGMA foreign_keys=ON")
                yield connection
        except sqlite3.Error as problem:
            raise GaelpError(
                f"{shown(self._path)}: the database says: {problem}. Nothing was written; see that it can be written"
                " and is whole (`gaelp audit verify`)."
            ) from problem


class _Postgres:
    """A server; the writer holds an advisory lock until its transaction ends."""

    def __init__(self, url: str) -> None:
        self._url = url

    def create(self) -> None:
        with self.writing() as session:
            for statement in _SCHEMA.split(";"):
                session.execute(statement)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        with self._connected() as session:
            session.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            yield session

    @contextmanager
    def writing(self) -> Iterator[Session]:
        with self._connected() as session:
            session.execute("SELECT pg_advisory_xact_lock(?)", (_WRITER_LOCK,))
            yield session

    @contextmanager
    def _connected(self) -> Iterator["_PostgresSession"]:
        import psycopg  # noqa: PLC0415 - who uses SQLite need not load it

        try:
            # The context commits at its end, or rolls back.
            with psycopg.connect(self._url, connect_timeout=_WAIT_SECONDS) as connection:
                yield _PostgresSession(connection)
        except psycopg.Error as problem:
            # Its message may hold the password of the URL.
            raise GaelpError(
                f"PostgreSQL says: {re.sub(r'//[^@/ ]*@', '//…@', str(problem)).strip()}. Nothing was written; see"
                " that the server answers."
            ) from None


class _PostgresSession:
    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def execute(self, sql: LiteralString, parameters: Sequence[str | int] = (), /) -> Rows:
        found: Rows = self._connection.execute(sql.replace("?", "%s"), parameters)
        return found
