"""A transfer: its states, its row, and the receipt that each step returns."""

import json
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Row, text

from gaelp.budget.ledger.caps import Bucket, Cap, CapKind, buckets_of
from gaelp.budget.ledger.connection import Ledger
from gaelp.budget.ledger.refusals import LedgerBroken, UnknownTransfer
from gaelp.errors import BadInput
from gaelp.money import Micros

__all__ = [
    "COLUMNS",
    "Receipt",
    "Transfer",
    "TransferState",
    "caps_as_json",
    "find_transfer",
    "get_transfer",
    "transfers_in",
    "transfers_of_days",
]


class TransferState(StrEnum):
    """The state of a transfer; docs/ledger.md draws the transitions."""

    RESERVED = "reserved"  # room is held, nothing was sent
    IN_FLIGHT = "in_flight"  # sent, or about to be: the outcome is unknown, so the room stays held
    POSTED = "posted"  # the real cost is known and booked
    VOIDED = "voided"  # known not to have been carried out
    EXPIRED = "expired"  # not sent in time

    @property
    def is_final(self) -> bool:
        """Whether only adjustments can follow."""
        return self in (TransferState.POSTED, TransferState.VOIDED, TransferState.EXPIRED)


COLUMNS = (
    "key, account_id, currency, amount_micros, caps, day, state, posted_micros, adjusted_micros,"
    " created_at_ms, expires_at_ms"
)


@dataclass(frozen=True, slots=True)
class Transfer:
    """A transfer as it is stored; its known cost is `posted_micros + adjusted_micros`."""

    key: str
    account_id: str
    currency: str
    amount_micros: Micros
    caps: tuple[Cap, ...]
    day: str
    state: TransferState
    posted_micros: Micros
    adjusted_micros: Micros
    created_at_ms: int
    expires_at_ms: int

    @classmethod
    def from_row(cls, row: Row[Any]) -> "Transfer":
        """Read a row that begins with COLUMNS; raise LedgerBroken for one that the ledger cannot have written."""
        try:
            return cls(
                row[0], row[1], row[2], row[3], _caps_from_json(row[4]), row[5], TransferState(row[6]), *row[7:11]
            )
        except (ValueError, TypeError, RecursionError, BadInput) as error:
            raise LedgerBroken(
                f"the transfer {row[0]!r} cannot be read, with the state {str(row[6])[:40]!r} and the caps"
                f" {str(row[4])[:80]!r}: run `gaelp ledger verify`, and restore a copy of the database that verifies"
            ) from error

    @property
    def buckets(self) -> list[Bucket]:
        """The buckets that the transfer counts against, in locking order."""
        return buckets_of(self.caps, self.day)


@dataclass(frozen=True, slots=True)
class Receipt:
    """The result of a step; `is_new` is False if the step had been made before and nothing changed."""

    key: str
    state: TransferState
    is_new: bool


_FIND = text(f"SELECT {COLUMNS} FROM ledger_transfer WHERE key = :key")  # noqa: S608 - a constant of this module
_IN_STATE = text(
    f"SELECT {COLUMNS} FROM ledger_transfer WHERE state = :state ORDER BY created_at_ms, key LIMIT :at_most"  # noqa: S608
)


_OF_DAYS = text(
    f"SELECT {COLUMNS} FROM ledger_transfer WHERE account_id = :account_id AND day >= :first AND day <= :last"  # noqa: S608
    " ORDER BY day, key"
)


def caps_as_json(caps: tuple[Cap, ...]) -> str:
    """Caps as they are stored and compared: sorted."""
    return json.dumps([[cap.kind, cap.subject] for cap in sorted(caps)])


@lru_cache(maxsize=4096)
def _caps_from_json(stored: str) -> tuple[Cap, ...]:
    """Parse what `caps_as_json` wrote; cached because many transfers share their caps."""
    caps = tuple(Cap(CapKind(kind), subject) for kind, subject in json.loads(stored))
    if not caps or caps_as_json(caps) != stored or len(set(caps)) != len(caps):
        raise ValueError("no caps, or not as they are written")
    return caps


def get_transfer(connection: Connection, key: str) -> Transfer:
    """Read the transfer with this key inside a transaction."""
    row = connection.execute(_FIND, {"key": key}).one_or_none()
    if row is None:
        raise UnknownTransfer(f"no transfer has the key {key!r}: reserve under it first")
    return Transfer.from_row(row)


def find_transfer(ledger: Ledger, key: str) -> Transfer:
    """Read the transfer with this key in its own transaction."""
    with ledger.snapshot() as connection:
        return get_transfer(connection, key)


def transfers_in(ledger: Ledger, state: TransferState, *, at_most: int = 1000) -> list[Transfer]:
    """The oldest transfers in a state; reconciliation looks those in flight up on the platform."""
    with ledger.snapshot() as connection:
        rows = connection.execute(_IN_STATE, {"state": state, "at_most": at_most}).all()
    return [Transfer.from_row(row) for row in rows]


def transfers_of_days(ledger: Ledger, account_id: str, first: date, last: date) -> list[Transfer]:
    """All transfers of an account for these days, both included."""
    values = {"account_id": account_id, "first": first.isoformat(), "last": last.isoformat()}
    with ledger.snapshot() as connection:
        return [Transfer.from_row(row) for row in connection.execute(_OF_DAYS, values)]
