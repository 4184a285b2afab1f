"""An open database: its transactions, and how it is opened without ever making an empty one in place of a lost one."""

import logging
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from gaelp.database.append_only import missing_walls
from gaelp.database.commit_head import CommitHead, committed, count_commit
from gaelp.database.engine import READ_ONLY, Lock, connect_engine, take_lock
from gaelp.database.errors import translated
from gaelp.database.old_file import copy_rows, imported_name, put_aside
from gaelp.database.place import Place, SharedPlace, shown_place
from gaelp.database.schema import Schema, edited_version, stored_version, upgrade
from gaelp.database.store import Store
from gaelp.errors import BadInput

if TYPE_CHECKING:
    import sqlite3

__all__ = ["Database", "has_store", "open_database"]

_log = logging.getLogger(__name__)

# Taken before a store's own lock while tables are made: stores share one table of versions.
_SCHEMA_LOCK = 0x6761_656C_70FF


@dataclass(frozen=True, slots=True)
class Database:
    """A store that is open: transactions that write, and snapshots to read from."""

    store: Store
    place: Place
    engine: Engine
    head: CommitHead | None  # on SQLite, where commits are synced

    @property
    def where(self) -> str:
        """Its place in a message."""
        return shown_place(self.place)

    @contextmanager
    def writing(self, lock: Lock | None = "alone") -> Iterator[Connection]:
        """Write: all of it is stored when this block ends, or none of it; by default no one else writes meanwhile."""
        number = 0
        with translated(self.store, self.where), self.engine.begin() as connection:
            if lock is not None:
                take_lock(connection, self.store.lock_key, lock)
            driver = None if self.head is None else cast("sqlite3.Connection", connection.connection.driver_connection)
            before = 0 if driver is None else driver.total_changes
            yield connection
            if driver is not None and driver.total_changes != before:
                number = count_commit(driver)
        if number and self.head is not None:
            self._note(self.head, number)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Read everything as of one moment, without waiting for writers."""
        with translated(self.store, self.where), self.engine.connect() as connection:
            reader = connection.execution_options(**{READ_ONLY: True})
            if self.engine.dialect.name == "postgresql":
                reader = reader.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            with reader.begin():
                yield reader

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Keep other holders out while this block writes in transactions of its own, taken without the lock.

        For PostgreSQL: on SQLite a transaction that waits would keep those of the block out.
        """
        with translated(self.store, self.where):
            connection = self.engine.connect()
        try:
            with translated(self.store, self.where):
                take_lock(connection, self.store.lock_key, "alone")
            yield
        finally:
            with suppress(DBAPIError):  # a server that is gone has let go of the lock as well
                connection.close()

    def install(self, schema: Schema) -> None:
        """Make or upgrade the tables of another schema in this database."""
        with self.reading() as connection:
            edited = edited_version(connection, schema)
            version = stored_version(connection, schema)
        if edited:
            raise _edited(self.store, self.place, schema, edited)
        if version < schema.version:
            _bring_up_to_date(self, schema)
        elif version > schema.version:
            raise _newer(self.store.title, schema, version)

    def missing_walls(self) -> tuple[str, ...]:
        """The append-only triggers that are gone or changed."""
        with self.reading() as connection:
            return missing_walls(connection, self.store.schema.append_only)

    def close(self) -> None:
        """Give back the connections."""
        self.engine.dispose()

    def _note(self, head: CommitHead, number: int) -> None:
        try:
            head.write(number)
        except OSError as problem:
            raise self.store.unavailable(
                f"{self.store.title} in {self.where} stored the write, but its number could not be noted beside it"
                f" ({problem.strerror}): {self.store.try_again}"
            ) from problem


def open_database(place: Place, store: Store, *, create: bool = True) -> Database:
    """Open a store at a path or PostgreSQL URL, upgraded to this code's version; made where it is missing, on demand.

    One that has lost tables or commits is refused, never completed: that would hide what was lost.
    """
    head = CommitHead(place) if isinstance(place, Path) and store.synced else None
    noted = _noted(head, store, place) if head else 0
    if isinstance(place, Path) and not (size := _size(place, store)):
        state = "is gone" if size is None else "is empty"
        if size is None and imported_name(place).exists():
            raise _moved(store, place)
        if noted:
            raise _lost(store, place, f"the file {state}, and {noted} transactions were committed to it")
        if not create:
            raise _absent(store, place, is_there=size is not None)
    try:
        engine = connect_engine(
            place, create=create, keep=store.keep_connections, synced=store.synced, name=f"gaelp-{store.schema.name}"
        )
    except OSError as problem:
        raise _unreachable(store, place, problem) from problem
    database = Database(store, place, engine, head)
    try:
        _check(database, noted, create=create)
        if isinstance(place, SharedPlace):
            _import_old_file(database, place.old_file)
    except BaseException:
        database.close()
        raise
    return database


def has_store(place: Place, store: Store) -> bool:
    """Whether the store is at a path or PostgreSQL URL; nothing is made by looking."""
    if isinstance(place, Path) and not _size(place, store):
        # It is lost or was moved, and opening it says so.
        return _noted(CommitHead(place), store, place) > 0 or imported_name(place).exists()
    if isinstance(place, SharedPlace) and _size(place.old_file, store):
        return True
    database = Database(store, place, connect_engine(place), None)
    try:
        with database.reading() as connection:
            return stored_version(connection, store.schema) > 0
    finally:
        database.close()


def _check(database: Database, noted: int, *, create: bool) -> None:
    store = database.store
    with database.reading() as connection:
        edited = edited_version(connection, store.schema)
        version = stored_version(connection, store.schema)
        number = committed(connection) if noted else 0
        gone = store.schema.missing_tables(connection, version)
    if number < noted:
        lost = f"it holds {number} committed transactions, and {noted} were: its -wal is gone, or it is an older copy"
        raise _lost(store, database.place, lost)
    if edited:
        raise _edited(store, database.place, store.schema, edited)
    if version > store.schema.version:
        raise _newer(store.title, store.schema, version)
    if gone and store.complete:
        raise _lost(store, database.place, f"the table {', '.join(gone)} is gone")
    if version == 0 and not create:
        raise _absent(store, database.place, is_there=True)
    if version < store.schema.version:
        _bring_up_to_date(database, store.schema)


def _bring_up_to_date(database: Database, schema: Schema) -> None:
    """Of several that open at once, the first upgrades and the others find it done."""
    with translated(database.store, database.where), database.engine.begin() as connection:
        take_lock(connection, _SCHEMA_LOCK, "alone")
        take_lock(connection, database.store.lock_key, "alone")
        if stored_version(connection, schema) < schema.version:
            upgrade(connection, schema)


def _import_old_file(database: Database, path: Path) -> None:
    """Copy what the home still keeps in a file of its own, once; then the file has another name."""
    store = database.store
    if not _size(path, store):
        return
    with database.holding():
        if not _size(path, store):
            return  # another process was first
        file = closing(open_database(path, store, create=False))
        with file as old, old.reading() as source, database.writing(lock=None) as target:
            rows = copy_rows(path, source, target, store.schema.metadata)
        if not rows:
            return
        try:
            kept = put_aside(path)
        except OSError as problem:
            raise store.unavailable(
                f"{path} was imported into PostgreSQL and cannot be renamed ({problem.strerror}): rename it to"
                f" {imported_name(path).name}"
            ) from problem
    _log.warning("%s was imported into PostgreSQL: %s; the file is kept as %s", path, ", ".join(rows), kept.name)


def _size(path: Path, store: Store) -> int | None:
    """Of the file in bytes, None if there is none; an empty one is not opened, for that would write to it."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise _unreachable(store, path, problem) from problem


def _absent(store: Store, place: Place, *, is_there: bool) -> Exception:
    what, where = store.title.removeprefix("the "), shown_place(place)
    problem = f"{where} holds no {what}" if is_there else f"there is no {what} at {where}"
    return store.absent(f"{problem}: {store.if_absent}")


def _moved(store: Store, path: Path) -> Exception:
    kept = imported_name(path)
    return store.absent(
        f"{store.title} of this home was moved to PostgreSQL ({kept} is what it was): {store.meanwhile}; set"
        " budget.database_url. To begin an empty one here, move that file to another folder"
    )


def _unreachable(store: Store, place: Place, problem: OSError) -> Exception:
    reason = problem.strerror or type(problem).__name__
    return store.unavailable(
        f"{store.title} in {shown_place(place)} cannot be reached ({reason}): {store.meanwhile}; {store.try_again}"
    )


def _lost(store: Store, place: Place, problem: str) -> Exception:
    return store.damaged(f"{store.title} in {shown_place(place)}: {problem}: {store.meanwhile}. {store.if_damaged}")


def _edited(store: Store, place: Place, schema: Schema, version: str) -> Exception:
    return _lost(store, place, f"the schema version of {schema.name!r} is {version}: the database was edited")


def _noted(head: CommitHead, store: Store, place: Place) -> int:
    """How many commits are noted beside a file; a note that cannot be read could hide lost ones, so it is refused."""
    try:
        return head.read()
    except (OSError, ValueError) as problem:
        name = f"{shown_place(place)}.head"
        reason = getattr(problem, "strerror", None) or problem
        raise store.damaged(
            f"{store.title}: {name} does not say how many transactions were committed ({reason}), and lost ones would"
            f" go unnoticed: {store.meanwhile}. {store.if_damaged}. Once the database is restored, remove"
            f" {name} if it is still unreadable, and run `{store.verify_command}`"
        ) from problem


def _newer(title: str, schema: Schema, version: int) -> Exception:
    return BadInput(
        f"{title} has version {version} of {schema.name!r}, this gaelp reads up to {schema.version}: use the gaelp that"
        " wrote it, or a newer one"
    )
