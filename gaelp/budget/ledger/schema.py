"""The tables of the ledger, with the CHECKs that hold even where the code above them is wrong.

Amounts are whole micros. On SQLite the tables are STRICT, so that no float can hide in an integer column.
"""

import uuid

from sqlalchemy import CheckConstraint, Column, Connection, Index, MetaData, Table, Text, inspect, text

from gaelp.database import Schema, big_integer
from gaelp.database.schema import replace_checks

__all__ = ["IDENTITY_TABLE", "MAX_AMOUNT_MICROS", "SCHEMA", "SIGNED_TABLE"]

# Far above any budget, and far enough below 2**63 that no sum inside a statement can overflow: SQLite would turn an
# overflowing sum into a float without a word.
MAX_AMOUNT_MICROS = 2**60
_MAX_BALANCE_MICROS = 2**62

_metadata = MetaData()


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False)


def _whole(name: str) -> Column[int]:
    return Column(name, big_integer, nullable=False)


def _table(name: str, *parts: Column[str] | Column[int] | CheckConstraint | Index, keyed: bool = True) -> Table:
    # Rows that live in the tree of their key, without a second one by number, make commits on SQLite a third smaller.
    return Table(name, _metadata, *parts, sqlite_strict=True, sqlite_with_rowid=not keyed)


# One row: which books these are. What was signed for in others, or used up for them, does not count here.
IDENTITY_TABLE = _table(
    "ledger_identity",
    Column("id", big_integer, primary_key=True, autoincrement=False),
    _text("books"),
    CheckConstraint("id = 1", name="identity_is_one_row"),
)

_table("ledger_account", Column("id", Text, primary_key=True), _text("currency"), _text("time_zone"))

# What a person set; a bucket of ledger_cap is opened from it when it is first used.
_table(
    "ledger_limit",
    Column("kind", Text, primary_key=True),
    Column("subject", Text, primary_key=True),
    _text("account_id"),  # empty where the cap spans accounts
    _text("currency"),
    _whole("limit_micros"),
    CheckConstraint(f"limit_micros BETWEEN 0 AND {MAX_AMOUNT_MICROS}", name="limit_in_range"),
)

# Every change of a limit that people signed for; one row is enough for raising to take signatures from then on.
SIGNED_TABLE = _table(
    "ledger_signed",
    Column("action_hash", Text, primary_key=True),
    _text("policy"),
    _text("kind"),
    _text("body"),  # JSON: what the audit log is to say
    _whole("at_ms"),
)

_table(
    "ledger_cap",
    Column("id", Text, primary_key=True),
    _text("kind"),
    _text("subject"),
    _text("day"),  # of the account; empty where the cap has no days
    _text("account_id"),
    _text("currency"),
    _whole("limit_micros"),
    _whole("reserved_micros"),
    _whole("posted_micros"),
    _whole("breached"),
    CheckConstraint(f"limit_micros BETWEEN 0 AND {MAX_AMOUNT_MICROS}", name="cap_limit_in_range"),
    CheckConstraint(f"reserved_micros BETWEEN 0 AND {_MAX_BALANCE_MICROS}", name="cap_reserved_in_range"),
    CheckConstraint(f"posted_micros BETWEEN 0 AND {_MAX_BALANCE_MICROS}", name="cap_posted_in_range"),
    CheckConstraint("breached IN (0, 1)", name="cap_breached_is_a_flag"),
    CheckConstraint("reserved_micros + posted_micros <= limit_micros OR breached = 1", name="cap_holds"),
)

_TRANSFERS = _table(
    "ledger_transfer",
    Column("key", Text, primary_key=True),
    _text("account_id"),
    _text("currency"),
    _whole("amount_micros"),
    _text("caps"),  # JSON: sorted [kind, subject] pairs
    _text("day"),  # of the account, fixed when the room was reserved
    _text("state"),
    _whole("posted_micros"),
    _whole("adjusted_micros"),
    _whole("created_at_ms"),
    _whole("expires_at_ms"),
    CheckConstraint(f"amount_micros BETWEEN 0 AND {MAX_AMOUNT_MICROS}", name="transfer_amount_in_range"),
    CheckConstraint(
        "state IN ('reserved', 'in_flight', 'posted', 'voided', 'expired')", name="transfer_state_is_known"
    ),
    CheckConstraint(
        f"posted_micros BETWEEN 0 AND {MAX_AMOUNT_MICROS} AND (state = 'posted' OR posted_micros = 0)",
        name="transfer_posted_only_when_posted",
    ),
    CheckConstraint(
        f"posted_micros + adjusted_micros BETWEEN 0 AND {_MAX_BALANCE_MICROS}", name="transfer_cost_in_range"
    ),
    CheckConstraint(
        "state NOT IN ('reserved', 'in_flight') OR adjusted_micros = 0", name="transfer_adjusted_only_when_finished"
    ),
    Index(
        "ledger_transfer_expiring",
        "expires_at_ms",
        sqlite_where=text("state = 'reserved'"),
        postgresql_where=text("state = 'reserved'"),
    ),
    Index(
        "ledger_transfer_unresolved",
        "created_at_ms",
        sqlite_where=text("state = 'in_flight'"),
        postgresql_where=text("state = 'in_flight'"),
    ),
)

_table(
    "ledger_adjustment",
    Column("key", Text, primary_key=True),
    _text("transfer_key"),
    _whole("micros"),
    _text("reason"),
    _whole("created_at_ms"),
    CheckConstraint(
        f"micros <> 0 AND micros BETWEEN -{MAX_AMOUNT_MICROS} AND {MAX_AMOUNT_MICROS}", name="adjustment_in_range"
    ),
)

# The journal: one row moves one amount from one account of the books to another, so it balances by its shape.
_table(
    "ledger_entry",
    Column("sequence", big_integer, primary_key=True, autoincrement=True),
    _text("transfer_key"),
    _text("debit"),
    _text("credit"),
    _whole("micros"),
    _whole("at_ms"),
    CheckConstraint(
        "debit <> credit AND debit IN ('available', 'reserved', 'spent')"
        " AND credit IN ('available', 'reserved', 'spent')",
        name="entry_names_two_accounts",
    ),
    CheckConstraint("micros > 0", name="entry_is_positive"),
    keyed=False,
)

# One row: the kill switch's wall inside the database. An empty stop_id means that spending may go on. `released_at_ms`
# is when the last stop was released (0: never): what was signed for a mandate before does not count.
_table(
    "ledger_fence",
    Column("id", big_integer, primary_key=True, autoincrement=False),
    _text("stop_id"),
    _text("record"),
    Column("released_at_ms", big_integer, nullable=False, server_default="0"),
    CheckConstraint("id = 1", name="fence_is_one_row"),
)


def _fill(connection: Connection) -> None:
    connection.execute(text("INSERT INTO ledger_fence (id, stop_id, record) VALUES (1, '', '')"))
    connection.execute(text("INSERT INTO ledger_identity (id, books) VALUES (1, :books)"), {"books": uuid.uuid4().hex})


def _drop_format(connection: Connection) -> None:
    """Version 1 kept its version in a table of its own; version 2 keeps it in gaelp_schema."""
    connection.execute(text("DROP TABLE ledger_format"))


def _allow_zero(connection: Connection) -> None:
    """Version 3 has transfers of zero: a call that needs no more room than its campaign has."""
    replace_checks(connection, _TRANSFERS)


def _add_release(connection: Connection) -> None:
    """Version 4 knows when the last stop was released."""
    columns = {column["name"] for column in inspect(connection).get_columns("ledger_fence")}
    if "released_at_ms" not in columns:
        kind = big_integer.compile(connection.dialect)
        connection.execute(text(f"ALTER TABLE ledger_fence ADD COLUMN released_at_ms {kind} NOT NULL DEFAULT 0"))


SCHEMA = Schema(
    "ledger",
    _metadata,
    old_tables=("ledger_format",),
    upgrades=(_drop_format, _allow_zero, _add_release),
    fill=_fill,
)
