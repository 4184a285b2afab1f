"""An open ledger: its database, latch and clock, and the kinds of transaction that its functions use."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from sqlalchemy import Connection

from gaelp.budget.latch import Latch
from gaelp.budget.ledger.fence import FENCE_CLOSED, fence_state
from gaelp.budget.ledger.refusals import LedgerBroken, LedgerDamaged, LedgerUnavailable, SpendingStopped
from gaelp.budget.ledger.schema import SCHEMA
from gaelp.clock import Clock, SystemClock
from gaelp.config.settings import Settings
from gaelp.database import Database, Place, Store, has_store, open_database, place_of
from gaelp.database.engine import Lock

__all__ = ["LEDGER_NAME", "STORE", "Ledger", "create_ledger", "has_books", "ledger_place", "open_ledger"]

LEDGER_NAME = "ledger.db"  # below the home folder

STORE = Store(
    title="the ledger",
    file_name=LEDGER_NAME,
    lock_key=0x6761656C70,
    schema=SCHEMA,
    meanwhile="no money is granted",
    try_again="check the database, then try again with the same key, which is safe",
    verify_command="gaelp ledger verify",
    if_absent="name the home folder or database of the one you mean, or create one (`gaelp ledger create`)",
    complete=False,  # `verify` reports missing tables, and lowering a limit must still work
    keep_connections=True,
    unavailable=LedgerUnavailable,
    damaged=LedgerDamaged,
    broken=LedgerBroken,
)


def ledger_place(settings: Settings) -> Place:
    """The path or URL of the ledger, whether or not it exists."""
    return place_of(settings, LEDGER_NAME)


def _pass(_point: str) -> None:
    """Do nothing; tests inject crashes here."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """The argument of every ledger function; `at_point` is called at each point where a crash matters.

    Days, leases and costs are dated by `clock`, which may be an ad platform's simulated time. What people sign and
    stop is dated by `wall_clock`; None is the same clock.
    """

    database: Database
    latch: Latch
    clock: Clock = field(default_factory=SystemClock)
    at_point: Callable[[str], None] = _pass
    wall_clock: Clock | None = None

    def now_ms(self) -> int:
        """The current time in whole milliseconds since 1970, UTC."""
        return int(self.clock.now().timestamp() * 1000)

    @property
    def has_wall_time(self) -> bool:
        """Whether `clock` is wall time too, so that orders can be compared with signatures and stops."""
        return self.wall_clock is None or self.wall_clock is self.clock

    def wall_ms(self) -> int:
        """The time by which people sign and stop, in the same unit."""
        return int((self.wall_clock or self.clock).now().timestamp() * 1000)

    @contextmanager
    def transaction(self, lock: Lock | None = None) -> Iterator[Connection]:
        """Write: the block is stored as a whole or not at all."""
        self.at_point("before begin")
        with self.database.writing(lock) as connection:
            self.at_point("begun")
            yield connection
            self.at_point("before commit")
        self.at_point("committed")

    @contextmanager
    def spending(self) -> Iterator[Connection]:
        """Write a grant: refused if the kill switch is set before or during the block."""
        self._refuse_if_latched()
        with self.transaction("shared") as connection:
            if fence_state(connection) is not None:
                raise SpendingStopped(FENCE_CLOSED)
            yield connection
        # A stop that could not reach the database counts too. The reservation stays, but is never sent.
        self._refuse_if_latched()

    @contextmanager
    def alone(self) -> Iterator[Connection]:
        """Write without concurrent spenders: limits, accounts and the fence."""
        with self.transaction("alone") as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Read everything from one snapshot."""
        with self.database.reading() as connection:
            yield connection

    def close(self) -> None:
        """Close the connections."""
        self.database.close()

    def _refuse_if_latched(self) -> None:
        if self.latch.is_set():
            raise SpendingStopped(
                f"the kill switch is set ({self.latch.path} exists or cannot be read): no money is granted until its"
                " release is approved"
            )


def create_ledger(
    place: Place, latch: Latch, *, clock: Clock | None = None, at_point: Callable[[str], None] = _pass
) -> Ledger:
    """Open the ledger at a path or PostgreSQL URL; create missing tables."""
    return Ledger(open_database(place, STORE), latch, clock or SystemClock(), at_point)


def has_books(place: Place) -> bool:
    """Whether there is a ledger at a path or PostgreSQL URL; never creates one."""
    return has_store(place, STORE)


def open_ledger(
    place: Place,
    latch: Latch,
    *,
    clock: Clock | None = None,
    wall_clock: Clock | None = None,
    at_point: Callable[[str], None] = _pass,
) -> Ledger:
    """Open the ledger at a path or PostgreSQL URL; a missing one is an error, never an empty ledger."""
    return Ledger(open_database(place, STORE, create=False), latch, clock or SystemClock(), at_point, wall_clock)
