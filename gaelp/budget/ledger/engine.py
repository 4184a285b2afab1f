"""Where SQLite and Postgres differ: how to connect, and how spenders and the kill switch keep out of each other's way.

SQLite lets one writer in at a time, so that `BEGIN IMMEDIATE` is all the order there has to be. Postgres lets many in:
spenders share an advisory lock that the kill switch and changes of limits take alone. Postgres queues fairly, so a stop
waits for the transactions under way and for no others. (A flag that is only read would let a reservation commit after
the stop has returned; a row lock would let a stream of spenders starve the stop.)
"""

import sqlite3
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event

from gaelp.budget.ledger.refusals import LedgerUnavailable
from gaelp.config.database_url import parse_database_url
from gaelp.config.private_files import make_private_file
from gaelp.errors import ComponentMissing

__all__ = ["READ_ONLY", "connect_engine", "take_lock"]

# An execution option: a reader on SQLite need not wait for the writer.
READ_ONLY = "gaelp_read_only"

_OLDEST_SQLITE = (3, 37)  # the first with STRICT tables
_WAIT_SECONDS = 30
# Any fixed number will do, as long as nothing else in the database uses it.
_ADVISORY_KEY = 0x6761656C70
_LOCKS = {"shared": "pg_advisory_xact_lock_shared", "alone": "pg_advisory_xact_lock"}


def connect_engine(place: Path | str, *, create: bool = False) -> Engine:
    """An engine for a SQLite file (a path) or a Postgres (a URL); a file that is not there is made only on demand."""
    if isinstance(place, Path):
        return _sqlite(place, create=create)
    return _postgres(parse_database_url(place))


def take_lock(connection: Connection, kind: Literal["shared", "alone"]) -> None:
    """Join the spenders, or keep all of them out, until the transaction ends.

    It is a statement of its own, so that what is read after it is what was committed before the lock was granted.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT {_LOCKS[kind]}({_ADVISORY_KEY})")


def _sqlite(path: Path, *, create: bool) -> Engine:
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        raise ComponentMissing(
            f"SQLite is {sqlite3.sqlite_version}, the ledger needs 3.37 or newer: use a newer Python or Postgres"
        )
    if create:
        make_private_file(path)  # what SQLite writes beside it gets the same rights
    # Without `mode=rw` a ledger whose disk is not mounted would be replaced by a new and empty one.
    address = f"file:{quote(str(path))}?mode=rw"

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(
            address, uri=True, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
        )
        # FULL: a commit that was reported survives a power cut. Checkpoints of 16 MB instead of 4 cost fewer syncs.
        for setting in ("journal_mode=WAL", "synchronous=FULL", "wal_autocheckpoint=4000"):
            connection.execute(f"PRAGMA {setting}")
        return connection

    engine = create_engine(URL.create("sqlite", database=str(path)), creator=connect)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _begin_sqlite(connection: Connection) -> None:
    reading = connection.get_execution_options().get(READ_ONLY, False)
    # A plain BEGIN would take the write lock too late, after having read what another writer then changes.
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


def _postgres(url: URL) -> Engine:
    settings = f"-c synchronous_commit=on -c lock_timeout={_WAIT_SECONDS}s -c statement_timeout={_WAIT_SECONDS}s"
    given: Any = url.query.get("options", "")
    options = f"{given} {settings}" if given else settings
    try:
        return create_engine(
            url.set(query={**url.query, "options": options}),
            isolation_level="READ COMMITTED",
            pool_pre_ping=True,
            connect_args={"connect_timeout": 5, "application_name": "gaelp-ledger"},
        )
    except ModuleNotFoundError as error:
        raise LedgerUnavailable(f"a Postgres ledger needs {error.name}: install psycopg[binary]") from error
