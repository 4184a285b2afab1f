"""One database layer for every store: locks, private files, append-only tables, schema versions, errors."""

from gaelp.database.database import Database, has_store, open_database
from gaelp.database.errors import DatabaseBroken, DatabaseDamaged, DatabaseUnavailable
from gaelp.database.place import Place, SharedPlace, place_of, shared_place_of, shown_place
from gaelp.database.schema import Schema, big_integer
from gaelp.database.store import Store

__all__ = [
    "Database",
    "DatabaseBroken",
    "DatabaseDamaged",
    "DatabaseUnavailable",
    "Place",
    "Schema",
    "SharedPlace",
    "Store",
    "big_integer",
    "has_store",
    "open_database",
    "place_of",
    "shared_place_of",
    "shown_place",
]
