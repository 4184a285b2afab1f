"""The record of sealed windows: which stored rows nobody may read without a ticket of the gate.

A seal withholds every row of its history from `withheld_from` on, also rows that are stored later, so that the next
window is as unread as this one. The newest seal of a history is in force; the windows before it were given up when it
was made, and no two windows share an hour. Rows are added and never changed, in SQLite or PostgreSQL.
"""

from datetime import date
from functools import cached_property

from pydantic import Field
from sqlalchemy import Column, Connection, MetaData, Table, Text, UniqueConstraint, text

from gaelp.config.base import Frozen
from gaelp.config.field_types import Instant
from gaelp.config.settings import Settings
from gaelp.database import Database, Place, Schema, Store, big_integer, has_store, open_database, place_of
from gaelp.errors import Refused

__all__ = ["STORE", "Seal", "SealBook", "history_name", "seals_place"]

_metadata = MetaData()
Table(
    "sealed_window",
    _metadata,
    Column("history", Text, primary_key=True),
    Column("number", big_integer, primary_key=True, autoincrement=False),
    Column("fingerprint", Text, nullable=False),
    Column("body", Text, nullable=False),
    UniqueConstraint("fingerprint", name="a_window_is_sealed_once"),
)

STORE = Store(
    title="the record of sealed windows",
    file_name="seals.db",
    lock_key=0x6761_656C_7008,
    schema=Schema("seals", _metadata, append_only=("sealed_window",)),
    meanwhile="no row of a history is read",
)

_ALL = text("SELECT body FROM sealed_window ORDER BY history, number")
_INSERT = text(
    "INSERT INTO sealed_window (history, number, fingerprint, body) VALUES (:history, :number, :fingerprint, :body)"
)


class Seal(Frozen):
    """One sealed window, and what is withheld because of it."""

    history: str = Field(min_length=1, description="the name of the history; its windows follow each other")
    number: int = Field(ge=1, description="of the windows of this history")
    fingerprint: str = Field(min_length=1, description="of the window's rows")
    sources: tuple[str, ...] = Field(description="rows of these are withheld; empty: of all")
    campaigns: tuple[str, ...] = Field(description="their rows are withheld too, whatever the source")
    withheld_from: Instant
    withheld_day: date = Field(description="the account's day that begins then")
    since: Instant = Field(description="when the window's first hour begins")
    until: Instant = Field(description="when its last hour ends")
    held_out_share: float
    held_out_key: str
    sealed_at: Instant
    splits: str = Field(description="the windows as they were fixed, as JSON")

    def shares_rows(self, other: "Seal") -> bool:
        """Whether two histories may have rows in common."""
        if not self.sources or not other.sources:
            return True
        return bool({*self.sources} & {*other.sources} or {*self.campaigns} & {*other.campaigns})


def history_name(sources: tuple[str, ...]) -> str:
    """The name of a history that was given none: its sources, or * for all of the store."""
    return ", ".join(sorted(sources)) or "*"


def seals_place(settings: Settings) -> Place:
    """Where the seals of these settings are kept."""
    return place_of(settings, STORE.file_name)


class SealBook:
    """The seals of one database; nothing is made by looking."""

    def __init__(self, place: Place) -> None:
        self._place = place

    @cached_property
    def _database(self) -> Database:
        return open_database(self._place, STORE)

    def all(self) -> tuple[Seal, ...]:
        """Every seal, by history and number."""
        if not has_store(self._place, STORE):
            return ()
        with self._database.reading() as connection:
            return _read(connection)

    def in_force(self) -> tuple[Seal, ...]:
        """The newest seal of each history."""
        return tuple({seal.history: seal for seal in self.all()}.values())

    def of(self, history: str) -> Seal | None:
        """The seal of a history that is in force."""
        return {seal.history: seal for seal in self.all()}.get(history)

    def add(self, seal: Seal) -> Seal:
        """Store a seal, or return the one of this history and number that another process stored meanwhile."""
        with self._database.writing() as connection:
            stored = _read(connection)
            for other in stored:
                if (other.history, other.number) == (seal.history, seal.number):
                    return other
            _check_new(seal, stored)
            values = {"history": seal.history, "number": seal.number, "fingerprint": seal.fingerprint}
            connection.execute(_INSERT, {**values, "body": seal.model_dump_json()})
            return seal


def _read(connection: Connection) -> tuple[Seal, ...]:
    return tuple(Seal.model_validate_json(body) for body in connection.execute(_ALL).scalars())


def _check_new(seal: Seal, stored: tuple[Seal, ...]) -> None:
    """Refuse a window with an hour that an earlier window has had: its looks would be had again."""
    for other in stored:
        if other.shares_rows(seal) and seal.since < other.until and other.since < seal.until:
            raise Refused(
                f"the window from {seal.since.isoformat()} to {seal.until.isoformat()} overlaps a window that was"
                f" sealed before, {other.since.isoformat()} to {other.until.isoformat()} of"
                f" {other.history!r}; allowed: hours that no sealed window has had, so that nobody"
                " gets further looks at the same data. Use that history, or wait for newer data."
            )
