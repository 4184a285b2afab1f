"""One database for approvals and audit log: SQLite by default, PostgreSQL by its URL; one writer at a time.

A transaction is on disk when it has been committed (SQLite: WAL with FULL synchronisation), and no second writer can
begin before that, so a chain cannot fork and an approval cannot be used twice.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, LiteralString, Protocol

from gaelp.config.database_url import connect_keywords
from gaelp.config.places import shown
from gaelp.config.private_files import make_private_file, make_private_folder
from gaelp.errors import GaelpError, Refused

__all__ = ["Database", "Rows", "Session", "is_begun", "open_database"]

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

# A second wall against mistakes; against malice there is the chain. SQLite keeps the statements word by word.
_WALLS: dict[str, LiteralString] = {
    f"{table}_no_{change}": f"CREATE TRIGGER {table}_no_{change} BEFORE {change} ON {table}"
    f" BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
    for table in _APPEND_ONLY
    for change in ("UPDATE", "DELETE")
}


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

    def missing_walls(self) -> tuple[str, ...]:
        """The triggers that keep rows from being changed, as far as they are gone."""
        ...


def open_database(place: Path | str, *, create: bool = True) -> Database:
    """The database at a path, or at the URL of a PostgreSQL; tables are made if there are none, unless told not to.

    Refused if some of the tables are gone: they are made together, and one made anew would hide that it was lost.
    """
    database = _Postgres(connect_keywords(place)) if isinstance(place, str) else _SQLite(place)
    database.check_tables(create=create)
    return database


def is_begun(place: Path | str) -> bool:
    """Whether there is a file, or in a PostgreSQL any of the tables; nothing is made by looking."""
    if isinstance(place, Path):
        return place.exists()
    return bool(_Postgres(connect_keywords(place)).tables())


def _to_be_made(present: set[str], where: str, *, create: bool) -> bool:
    gone = [table for table in _APPEND_ONLY if table not in present]
    if not gone:
        return False
    if create and len(gone) == len(_APPEND_ONLY):
        return True
    seen = f"the table {', '.join(gone)} is gone" if len(gone) < len(_APPEND_ONLY) else "there is no audit log in it"
    raise Refused(
        f"{where}: {seen}, and it is not made anew here, for that would hide what was lost. Stop spending (`gaelp"
        " kill`), keep this database as evidence, and go back to a copy that is whole"
    )


class _SQLite:
    """A file; every transaction has a connection of its own, so that forks and threads share nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def check_tables(self, *, create: bool) -> None:
        if create:
            make_private_folder(self._path.parent)
            make_private_file(self._path)
        elif not self._path.exists():  # connecting would make the file
            _to_be_made(set(), shown(self._path), create=False)
        with self._connected() as connection:
            found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            # Made in one transaction: there are all of them or none, and a reader need not wait for writers.
            if not _to_be_made({name for (name,) in found}, shown(self._path), create=create):
                return
            connection.execute("PRAGMA journal_mode=WAL")
        with self.writing() as session:
            for statement in _SCHEMA.split(";"):
                session.execute(statement)
            for statement in _WALLS.values():
                session.execute(statement)

    def missing_walls(self) -> tuple[str, ...]:
        with self.reading() as session:
            found = dict(session.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall())
        return tuple(name for name, statement in _WALLS.items() if found.get(name) != statement)

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
            damaged = getattr(problem, "sqlite_errorname", "") in ("SQLITE_CORRUPT", "SQLITE_NOTADB")
            raise (Refused if damaged else GaelpError)(
                f"{shown(self._path)}: the database says: {problem}. It was not written to; see that it can be written"
                " and is whole, and if it is damaged go back to a copy that is not."
            ) from problem


class _Postgres:
    """A server; the writer holds an advisory lock until its transaction ends."""

    def __init__(self, keywords: dict[str, Any]) -> None:
        # Keywords, not the URL: psycopg takes it apart in another way than the ledger, and quotes what it cannot read.
        self._keywords = {**keywords, "connect_timeout": _WAIT_SECONDS}

    def check_tables(self, *, create: bool) -> None:
        with self.writing() as session:
            if _to_be_made(_postgres_tables(session), "the PostgreSQL database", create=create):
                for statement in _SCHEMA.split(";"):
                    session.execute(statement)

    def tables(self) -> set[str]:
        with self.reading() as session:
            return _postgres_tables(session)

    def missing_walls(self) -> tuple[str, ...]:
        return ()  # there are none: rights keep people from tables there

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
            with psycopg.connect(**self._keywords) as connection:
                yield _PostgresSession(connection)
        except psycopg.Error as problem:
            raise GaelpError(
                f"PostgreSQL says: {str(problem).strip()}. It was not written to; see that the server answers."
            ) from None


def _postgres_tables(session: Session) -> set[str]:
    found = session.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()")
    return {name for (name,) in found} & {*_APPEND_ONLY}


class _PostgresSession:
    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def execute(self, sql: LiteralString, parameters: Sequence[str | int] = (), /) -> Rows:
        found: Rows = self._connection.execute(sql.replace("?", "%s"), parameters)
        return found
