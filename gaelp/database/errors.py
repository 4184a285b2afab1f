"""What a database raises, and how a driver's errors become one of these.

DatabaseUnavailable (ComponentMissing)   not reachable or busy: what happened to a write is unknown
└── DatabaseDamaged                      the file is not whole, or lost commits: restore a backup
DatabaseBroken (GaelpError)              a constraint stopped a write that the code should have refused
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from gaelp.errors import ComponentMissing, GaelpError

if TYPE_CHECKING:
    from gaelp.database.store import Store

__all__ = ["HOW_TO_RESTORE", "DatabaseBroken", "DatabaseDamaged", "DatabaseUnavailable", "first_line", "translated"]

HOW_TO_RESTORE = (
    "stop spending (`gaelp kill`), keep the home as evidence, and restore the newest backup (docs/ledger.md, Restore)"
)
# SQLite by name; PostgreSQL by SQLSTATE: data_corrupted, index_corrupted.
_DAMAGE = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "XX001", "XX002")


class DatabaseUnavailable(ComponentMissing):
    """The database cannot be reached or did not answer; what happened to a write is unknown."""


class DatabaseDamaged(DatabaseUnavailable):
    """The database is not whole: tables, pages or committed transactions are gone."""


class DatabaseBroken(GaelpError):
    """A constraint stopped a write that the code should have refused; nothing was stored."""


@contextmanager
def translated(store: "Store", where: str) -> Iterator[None]:
    """Raise the store's own errors in place of a driver's; `where` names the database without its password."""
    try:
        yield
    except (IntegrityError, DataError) as error:
        raise store.broken(
            f"{store.title} in {where} refused a write that should not have been tried ({first_line(error)}): nothing"
            f" was stored; run `{store.verify_command}` and report it"
        ) from error
    except DBAPIError as error:
        if _is_damage(error):
            raise store.damaged(
                f"{store.title} in {where} is damaged ({first_line(error)}): {store.meanwhile}. {store.if_damaged}"
            ) from error
        raise store.unavailable(
            f"{store.title} in {where} did not answer ({first_line(error)}): {store.meanwhile}; {store.try_again}"
        ) from error
    except PoolTimeoutError as error:
        raise store.unavailable(f"all connections to {store.title} in {where} are busy: try again later") from error


def first_line(error: DBAPIError) -> str:
    """What the driver said, without the statement and its values."""
    said = str(error.orig).strip()
    return said.splitlines()[0] if said else type(error.orig).__name__


def _is_damage(error: DBAPIError) -> bool:
    code = getattr(error.orig, "sqlite_errorname", None) or getattr(error.orig, "sqlstate", None) or ""
    return str(code).startswith(_DAMAGE)
