"""The journal: each movement of money is a row with a debit and a credit side, written once and never changed.

The accounts of the ledger are `available`, `reserved` and `spent`. Reserving moves an amount from available to
reserved; finishing moves it back; cost moves from available to spent, and a refund from spent to available.
"""

from typing import Literal, NamedTuple

from sqlalchemy import Connection, text

from gaelp.money import Micros

__all__ = ["Movement", "cost", "held", "released", "write_movements"]

BookAccount = Literal["available", "reserved", "spent"]

_INSERT = text(
    "INSERT INTO ledger_entry (transfer_key, debit, credit, micros, at_ms)"
    " VALUES (:key, :debit, :credit, :micros, :at_ms)"
)


class Movement(NamedTuple):
    """`micros` leave the credited account of the ledger and enter the debited one."""

    debit: BookAccount
    credit: BookAccount
    micros: Micros


def held(micros: Micros) -> Movement:
    """Reserve room."""
    return Movement("reserved", "available", micros)


def released(micros: Micros) -> Movement:
    """Free reserved room."""
    return Movement("available", "reserved", micros)


def cost(micros: Micros) -> Movement:
    """Book real cost, or a refund if it is negative."""
    return Movement("spent", "available", micros) if micros >= 0 else Movement("available", "spent", -micros)


def write_movements(connection: Connection, key: str, at_ms: int, *movements: Movement) -> None:
    """Append movements; one of zero micros is skipped."""
    rows = [{"key": key, "at_ms": at_ms, **movement._asdict()} for movement in movements if movement.micros]
    if rows:
        connection.execute(_INSERT, rows)
