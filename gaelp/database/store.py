"""What a store says about itself: its file, its lock, its tables, and the words and classes of its errors."""

from dataclasses import dataclass

from gaelp.database.errors import HOW_TO_RESTORE, DatabaseBroken, DatabaseDamaged, DatabaseUnavailable
from gaelp.database.schema import Schema
from gaelp.errors import BadInput, GaelpError

__all__ = ["Store"]


@dataclass(frozen=True, slots=True)
class Store:
    """One store. `lock_key` is its advisory lock on PostgreSQL: fixed for ever, and nothing else may use it."""

    title: str  # in messages: "the ledger"
    file_name: str  # below the home, on SQLite
    lock_key: int
    schema: Schema
    meanwhile: str  # what does not happen while it fails: "no money is granted"
    try_again: str = "check the database, then try again"
    verify_command: str = "gaelp doctor"
    if_damaged: str = HOW_TO_RESTORE
    absent: type[GaelpError] = BadInput  # raised where it has to be there and is not
    if_absent: str = "name the home or the database that holds it"
    complete: bool = True  # refuse to open it with a table gone
    keep_connections: bool = False  # a pool is faster; a connection for each transaction is safe to fork
    synced: bool = True  # False on SQLite: commits survive a killed process, but the last ones no power cut; faster
    unavailable: type[DatabaseUnavailable] = DatabaseUnavailable
    damaged: type[DatabaseDamaged] = DatabaseDamaged
    broken: type[DatabaseBroken] = DatabaseBroken
