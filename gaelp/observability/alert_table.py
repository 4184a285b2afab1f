"""Which alerts were sent, in the PostgreSQL of the ledger, so that all machines together send each once."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from pydantic import ValidationError
from sqlalchemy import CheckConstraint, Column, MetaData, Table, Text, text

from gaelp.database import Database, Place, Schema, Store, big_integer, open_database
from gaelp.database.old_file import put_aside
from gaelp.errors import GaelpError
from gaelp.observability.alert_memory import FileMemory, SharedMemory, StoredAlerts, log_trouble
from gaelp.observability.logs import get_logger

__all__ = ["STORE", "TableMemory"]

_metadata = MetaData()
Table(
    "alert_memory",
    _metadata,
    Column("id", big_integer, primary_key=True, autoincrement=False),
    Column("body", Text, nullable=False),
    CheckConstraint("id = 1", name="alert_memory_is_one_row"),
    sqlite_strict=True,
)
STORE = Store(
    title="the record of alerts",
    file_name="alerts.db",
    lock_key=0x6761_656C_7005,
    schema=Schema("alerts", _metadata),
    meanwhile="some people may be alerted twice",
)
_READ = text("SELECT body FROM alert_memory WHERE id = 1")
_WRITE = text(
    "INSERT INTO alert_memory (id, body) VALUES (1, :body) ON CONFLICT (id) DO UPDATE SET body = excluded.body"
)


class TableMemory(SharedMemory):
    """The memory of all machines that name the same database; what an older file of this home holds is added."""

    def __init__(self, place: Place, old_file: Path | None = None) -> None:
        super().__init__()
        self._place, self._old_file = place, old_file

    @cached_property
    def _database(self) -> Database:
        database = open_database(self._place, STORE)
        if self._old_file is not None:
            self._import(self._old_file)
        return database

    def _import(self, file: Path) -> None:
        """Add what the file remembers and rename it; where that fails, the next process tries again."""
        try:
            if not file.exists():
                return
            with TableMemory(self._place).held(strict=True) as state:
                state.take_in(FileMemory(file).look())
            kept = put_aside(file)
        except (GaelpError, OSError) as problem:
            log_trouble(f"the alerts in {file} are not imported into PostgreSQL", problem)
            return
        get_logger("gaelp.alerts").warning("alerts were imported into PostgreSQL", file=str(file), kept_as=kept.name)

    @contextmanager
    def _lock(self) -> Iterator[None]:
        with self._database.holding():
            yield

    def _read(self) -> StoredAlerts | None:
        with self._database.reading() as connection:
            body = connection.execute(_READ).scalar_one_or_none()
        try:
            return None if body is None else StoredAlerts.model_validate_json(body)
        except ValidationError as problem:
            raise GaelpError(
                f"the record of alerts cannot be read: {problem.error_count()} values in it are not what this version"
                " writes. The next alert starts an empty one"
            ) from None

    def _write(self, stored: StoredAlerts) -> None:
        with self._database.writing(lock=None) as connection:
            connection.execute(_WRITE, {"body": stored.model_dump_json()})

    def _put_aside(self) -> None:
        log_trouble("what cannot be read is replaced", None)
