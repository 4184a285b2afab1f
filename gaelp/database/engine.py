"""Where SQLite and PostgreSQL differ: how to connect, and how writers keep out of each other's way.

SQLite lets one writer in at a time, so `BEGIN IMMEDIATE` is all the order there has to be. PostgreSQL lets many in:
writers take an advisory lock, shared or alone. PostgreSQL queues fairly, so the kill switch, which takes the ledger's
lock alone, waits for the transactions under way and for no others. (A flag that is only read would let a reservation
commit after the stop has returned; a row lock would let a stream of spenders starve the stop.)
"""

import sqlite3
import time
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event

from gaelp.config.database_url import parse_database_url
from gaelp.config.private_files import make_private_file, make_private_folder
from gaelp.database.errors import DatabaseUnavailable
from gaelp.database.place import Place, SharedPlace
from gaelp.errors import ComponentMissing

__all__ = ["READ_ONLY", "WAIT_SECONDS", "Lock", "connect_engine", "take_lock"]

# An execution option: a reader on SQLite need not wait for the writer.
READ_ONLY = "gaelp_read_only"

Lock = Literal["shared", "alone"]

WAIT_SECONDS = 30  # for another writer, and for one statement on PostgreSQL
_BETWEEN_SECONDS = 0.01
_PRIMARY_CODE = 0xFF  # an extended error code has more bits
_OLDEST_SQLITE = (3, 37)  # the first with STRICT tables
_LOCKS = {"shared": "pg_advisory_xact_lock_shared", "alone": "pg_advisory_xact_lock"}
# FULL: a commit that was reported survives a power cut; NORMAL: it survives a killed process, and the file stays whole.
_SYNC = {True: "synchronous=FULL", False: "synchronous=NORMAL"}
# Checkpoints of 16 MB instead of 4 cost fewer syncs.
_SETTINGS = ("wal_autocheckpoint=4000", "foreign_keys=ON")


def connect_engine(
    place: Place, *, create: bool = False, keep: bool = False, synced: bool = True, name: str = "gaelp"
) -> Engine:
    """An engine for a SQLite file (a path) or a PostgreSQL (a URL); a missing file is made only on demand.

    `keep`: reuse connections. `synced`: commits on SQLite survive a power cut. `name` is what PostgreSQL lists its
    connections under.
    """
    pool: dict[str, Any] = {} if keep else {"poolclass": NullPool}
    if isinstance(place, Path):
        return _sqlite(place, create=create, synced=synced, pool=pool)
    url = place.url if isinstance(place, SharedPlace) else place
    return _postgres(parse_database_url(url), pool, name)


def take_lock(connection: Connection, key: int, kind: Lock) -> None:
    """Join the other writers, or keep all of them out, until the transaction ends.

    It is a statement of its own, so that what is read after it is what was committed before the lock was granted.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT {_LOCKS[kind]}({key})")


def _sqlite(path: Path, *, create: bool, synced: bool, pool: dict[str, Any]) -> Engine:
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        raise ComponentMissing(
            f"SQLite is {sqlite3.sqlite_version}, gaelp needs 3.37 or newer: use a newer Python or PostgreSQL"
        )
    if create:
        make_private_folder(path.parent)
        make_private_file(path)  # what SQLite writes beside it gets the same rights
    # Without `mode=rw` a database whose disk is not mounted would be replaced by a new and empty one.
    address = f"file:{quote(str(path))}?mode=rw"

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(
            address, uri=True, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            _use_wal(connection)
            for setting in (*_SETTINGS, _SYNC[synced]):
                connection.execute(f"PRAGMA {setting}")
        except BaseException:
            connection.close()
            raise
        return connection

    engine = create_engine(URL.create("sqlite", database=str(path)), creator=connect, **pool)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch to the write-ahead log; SQLite itself does not wait where several switch a new file at once."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as problem:
            if problem.sqlite_errorcode & _PRIMARY_CODE != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_BETWEEN_SECONDS)
        else:
            return


def _begin_sqlite(connection: Connection) -> None:
    reading = connection.get_execution_options().get(READ_ONLY, False)
    # A plain BEGIN would take the write lock too late, after having read what another writer then changes.
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


def _postgres(url: URL, pool: dict[str, Any], name: str) -> Engine:
    settings = f"-c synchronous_commit=on -c lock_timeout={WAIT_SECONDS}s -c statement_timeout={WAIT_SECONDS}s"
    given: Any = url.query.get("options", "")
    options = f"{given} {settings}" if given else settings
    try:
        return create_engine(
            url.set(query={**url.query, "options": options}),
            isolation_level="READ COMMITTED",
            connect_args={"connect_timeout": 5, "application_name": name},
            **(pool or {"pool_pre_ping": True}),
        )
    except ModuleNotFoundError as error:
        raise DatabaseUnavailable(f"PostgreSQL needs {error.name}: install psycopg[binary]") from error
