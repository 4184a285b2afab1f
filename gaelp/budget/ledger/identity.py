"""The random id that a ledger gets once, so that another ledger at the same place can be recognised."""

import uuid

from sqlalchemy import Connection, inspect, text

from gaelp.budget.ledger.connection import Ledger
from gaelp.budget.ledger.schema import IDENTITY_TABLE

__all__ = ["books_id", "known_books_id"]

_FIND = text("SELECT books FROM ledger_identity WHERE id = 1")
_INSERT = text("INSERT INTO ledger_identity (id, books) VALUES (1, :books) ON CONFLICT DO NOTHING")


def books_id(ledger: Ledger) -> str:
    """The id of this ledger; one created before ids existed gets its id now."""
    if known := known_books_id(ledger):
        return known
    with ledger.alone() as connection:
        IDENTITY_TABLE.create(connection, checkfirst=True)
        connection.execute(_INSERT, {"books": uuid.uuid4().hex})
        return _read_id(connection)


def known_books_id(ledger: Ledger) -> str:
    """The id of this ledger, empty if it has none; writes nothing."""
    with ledger.snapshot() as connection:
        return _read_id(connection)


def _read_id(connection: Connection) -> str:
    if not inspect(connection).has_table(IDENTITY_TABLE.name):
        return ""
    return str(connection.execute(_FIND).scalar_one_or_none() or "")
