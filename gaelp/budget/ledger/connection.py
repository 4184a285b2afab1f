"""An open ledger: its database, the latch, the clock, and the kinds of transaction that the functions beside it use."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from gaelp.budget.latch import Latch
from gaelp.budget.ledger.engine import READ_ONLY, connect_engine, take_lock
from gaelp.budget.ledger.fence import FENCE_CLOSED, fence_state
from gaelp.budget.ledger.refusals import LedgerBroken, LedgerUnavailable, Stopped
from gaelp.budget.ledger.schema import FORMAT_VERSION, metadata
from gaelp.clock import Clock, SystemClock
from gaelp.config.home import books_place
from gaelp.config.private_files import make_private_folder
from gaelp.config.settings import Settings
from gaelp.errors import BadInput

__all__ = ["LEDGER_NAME", "Ledger", "create_ledger", "has_books", "ledger_place", "open_ledger"]

LEDGER_NAME = "ledger.db"  # below the home folder


def ledger_place(settings: Settings) -> Path | str:
    """Where the ledger is, or would be."""
    return books_place(settings, LEDGER_NAME)


def _pass(_point: str) -> None:
    """Nothing happens at a point of a transaction unless a test says so."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """What every function of the ledger works on; `at_point` is told each point where a crash would matter."""

    engine: Engine
    latch: Latch
    clock: Clock = field(default_factory=SystemClock)
    at_point: Callable[[str], None] = _pass

    def now_ms(self) -> int:
        """The present instant in whole milliseconds since 1970, UTC."""
        return int(self.clock.now().timestamp() * 1000)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Write: all of it is stored when this block ends, or none of it."""
        self.at_point("before begin")
        with _told_in_our_words(), self.engine.begin() as connection:
            self.at_point("begun")
            yield connection
            self.at_point("before commit")
        self.at_point("committed")

    @contextmanager
    def spending(self) -> Iterator[Connection]:
        """Write what lets money go: refused while the kill switch is set, and if it was set before the block ends."""
        self._refuse_if_latched()
        with self.transaction() as connection:
            take_lock(connection, "shared")
            if fence_state(connection) is not None:
                raise Stopped(FENCE_CLOSED)
            yield connection
        # A stop that could not reach the database counts too. What was written stays: it was reserved and never sent.
        self._refuse_if_latched()

    @contextmanager
    def alone(self) -> Iterator[Connection]:
        """Write while no spender is at work: limits, accounts and the fence."""
        with self.transaction() as connection:
            take_lock(connection, "alone")
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Read everything as of one moment."""
        with _told_in_our_words(), self.engine.connect() as connection:
            reader = connection.execution_options(**{READ_ONLY: True})
            if self.engine.dialect.name == "postgresql":
                reader = reader.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            with reader.begin():
                yield reader

    def close(self) -> None:
        """Give back the connections."""
        self.engine.dispose()

    def _refuse_if_latched(self) -> None:
        if self.latch.is_set():
            raise Stopped(
                f"the kill switch is set ({self.latch.path} exists or cannot be read): no money is granted until its"
                " release is approved"
            )


def create_ledger(
    place: Path | str, latch: Latch, *, clock: Clock | None = None, at_point: Callable[[str], None] = _pass
) -> Ledger:
    """Open the ledger at a path or Postgres URL, making its tables where there are none."""
    if isinstance(place, Path):
        make_private_folder(place.parent)
    engine = connect_engine(place, create=True)
    with _told_in_our_words(), engine.begin() as connection:
        take_lock(connection, "alone")
        if not inspect(connection).has_table("ledger_format"):
            metadata.create_all(connection)
            connection.execute(
                text("INSERT INTO ledger_format (version) VALUES (:version)"), {"version": FORMAT_VERSION}
            )
            connection.execute(text("INSERT INTO ledger_fence (id, stop_id, record) VALUES (1, '', '')"))
            connection.execute(
                text("INSERT INTO ledger_identity (id, books) VALUES (1, :books)"), {"books": uuid.uuid4().hex}
            )
    engine.dispose()  # what is handed out is opened, and checked, like any other
    return open_ledger(place, latch, clock=clock, at_point=at_point)


def has_books(place: Path | str) -> bool:
    """Whether there are books at a path or Postgres URL; none are begun by looking."""
    if isinstance(place, Path) and not place.is_file():
        return False
    engine = connect_engine(place)
    try:
        with _told_in_our_words(), engine.connect() as connection:
            return inspect(connection.execution_options(**{READ_ONLY: True})).has_table("ledger_format")
    finally:
        engine.dispose()


def open_ledger(
    place: Path | str, latch: Latch, *, clock: Clock | None = None, at_point: Callable[[str], None] = _pass
) -> Ledger:
    """Open the ledger at a path or Postgres URL; one that is not there is an error, never an empty ledger."""
    if isinstance(place, Path) and not place.is_file():
        raise BadInput(
            f"there is no ledger at {place}: name the home folder of the one you mean, or begin one"
            " (`gaelp ledger create`)"
        )
    ledger = Ledger(connect_engine(place), latch, clock or SystemClock(), at_point)
    try:
        _check_format(ledger)
    except BaseException:
        ledger.close()
        raise
    return ledger


def _check_format(ledger: Ledger) -> None:
    with ledger.snapshot() as connection:
        if not inspect(connection).has_table("ledger_format"):
            raise BadInput("the database holds no ledger: name another one, or begin one in it (`gaelp ledger create`)")
        versions = connection.execute(text("SELECT version FROM ledger_format")).scalars().all()
    if versions != [FORMAT_VERSION]:
        raise BadInput(
            f"the ledger has format {versions}, this version of gaelp reads {FORMAT_VERSION}: use the one that wrote it"
        )


@contextmanager
def _told_in_our_words() -> Iterator[None]:
    """A constraint that had to step in is a defect; everything else a database says means that it is not available."""
    try:
        yield
    except (IntegrityError, DataError) as error:
        raise LedgerBroken(
            f"the database refused a write that should not have been tried ({_first_line(error)}): nothing was stored;"
            " run `gaelp ledger verify` and report it"
        ) from error
    except DBAPIError as error:
        raise LedgerUnavailable(
            f"the ledger's database did not do its work ({_first_line(error)}): no money is granted; look after the"
            " database, then try again with the same key, which is safe"
        ) from error
    except PoolTimeoutError as error:
        raise LedgerUnavailable("all connections to the ledger's database are busy: try again later") from error


def _first_line(error: DBAPIError) -> str:
    return str(error.orig).strip().splitlines()[0] if str(error.orig).strip() else type(error.orig).__name__
