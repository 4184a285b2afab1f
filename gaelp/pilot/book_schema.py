"""The tables of the pilots' record, and its store."""

from collections.abc import Sequence
from typing import Any, Literal, get_args

from sqlalchemy import CheckConstraint, Column, Connection, LargeBinary, MetaData, Table, Text

from gaelp.database import Schema, Store, big_integer

__all__ = ["STORE", "OrderWord"]

OrderWord = Literal["sent", "unknown", "rejected", "refused", "same", "small", "quota", "held", "late"]
_APPEND_ONLY = ("pilot_interval", "pilot_decision", "pilot_order", "pilot_event")
_metadata = MetaData()
_MONEY = "pilot_money"


def _table(name: str, *columns: Any, key: Sequence[str]) -> None:
    named: list[Column[Any]] = [Column(each, Text, primary_key=True) for each in key if each != "slot"]
    named.append(Column("slot", big_integer, primary_key=True, autoincrement=False))  # the interval: a word of SQL
    Table(name, _metadata, *named, *columns, sqlite_strict=True)


_table(
    "pilot_interval",
    Column("begins", Text, nullable=False),
    Column("state", Text, nullable=False),
    CheckConstraint("state IN ('decided', 'missed')", name="interval_state_is_known"),
    key=("pilot", "slot"),
)
_table("pilot_decision", Column("body", Text, nullable=False), key=("pilot", "campaign", "slot"))
_table(
    "pilot_order",
    Column("word", Text, nullable=False),
    Column("body", Text, nullable=False),
    CheckConstraint(f"word IN ({', '.join(repr(word) for word in get_args(OrderWord))})", name="order_word_is_known"),
    key=("pilot", "campaign", "slot"),
)
Table(
    "pilot_event",
    _metadata,
    Column("pilot", Text, primary_key=True),
    Column("number", big_integer, primary_key=True, autoincrement=False),
    *(Column(name, Text, nullable=False) for name in ("at", "kind", "campaign", "body")),
    sqlite_strict=True,
)
Table(
    "pilot_state",
    _metadata,
    Column("pilot", Text, primary_key=True),
    Column("slot", big_integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    sqlite_strict=True,
)
Table(
    _MONEY,
    _metadata,
    Column("pilot", Text, primary_key=True),
    Column("slot", big_integer, nullable=False),
    Column("body", Text, nullable=False),
    sqlite_strict=True,
)
Table(
    "pilot_lease",
    _metadata,
    Column("account", Text, primary_key=True),
    *(Column(name, Text, nullable=False) for name in ("run", "holder")),
    Column("expires_ms", big_integer, nullable=False),
    sqlite_strict=True,
)


def _add_money(connection: Connection) -> None:
    """Version 2 has what a pilot spent and earned so far."""
    _metadata.tables[_MONEY].create(connection, checkfirst=True)


STORE = Store(
    title="the record of pilots",
    file_name="pilot.db",
    lock_key=0x6761_656C_7009,
    schema=Schema("pilot", _metadata, upgrades=(_add_money,), append_only=_APPEND_ONLY),
    meanwhile="no pilot decides",
    keep_connections=True,
)
