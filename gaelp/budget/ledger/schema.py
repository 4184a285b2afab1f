"""The tables of the ledger, with CHECK constraints as a second defence against bugs in the code above them.

Amounts are whole micros. On SQLite the tables are STRICT, so that an integer column cannot hold a float.
"""

import uuid

from sqlalchemy import CheckConstraint, Column, Connection, Index, MetaData, Table, Text, inspect, text

from gaelp.database import Schema, big_integer
from gaelp.database.schema import replace_checks

__all__ = ["IDENTITY_TABLE", "MAX_AMOUNT_MICROS", "SCHEMA", "SIGNED_TABLE"]

# Far above any budget, and far enough below 2**63 that no sum inside a statement can overflow: SQLite would silently
# turn an overflowing sum into a float.
MAX_AMOUNT_MICROS = 2**60
_MAX_BALANCE_MICROS = 2**62

_metadata = MetaData()


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False)


def _whole(name: str) -> Column[int]:
    return Column(name, big_integer, nullable=False)


def _table(name: str, *parts: Column[str] | Column[int] | CheckConstraint | Index, keyed: bool = True) -> Table:
    # Rows stored by primary key, without a separate rowid, make commits on SQLite a third smaller.
    return Table(name, _metadata, *parts, sqlite_strict=True, sqlite_with_rowid=not keyed)


# One row: the id of this ledger. Signatures given or used for another ledger do not count here.
IDENTITY_TABLE = _table(
    "ledger_identity",
    Column("id", big_integer, primary_key=True, autoincrement=False),
    _text("books"),
    CheckConstraint("id = 1", name="identity_is_one_row"),
)

_table("ledger_account", Column("id", Text, primary_key=True), _text("currency"), _text("time_zone"))

# The limits people set; the first use of a limit opens its bucket in ledger_cap.
_table(
    "ledger_limit",
    Column("kind", Text, primary_key=True),
    Column("subject", Text, primary_key=True),
    _text("account_id"),  # empty where the cap spans accounts
    _text("currency"),
    _whole("limit_micros"),
    CheckConstraint(f"limit_micros BETWEEN 0 AND {MAX_AMOUNT_MICROS}", name="limit_in_range"),
)

# Every signed change of a limit; from the first row on, raising a limit takes signatures.
SIGNED_TABLE = _table(
    "ledger_signed",
    Column("action_hash", Text, primary_key=True),
    _text("policy"),
    _text("kind"),
    _text("body"),  # JSON: the body of the audit log's row
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

# The journal: each row moves one amount between two accounts of the ledger, so debits always equal credits.
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

# One row: the kill switch's flag inside the database. An empty stop_id means that spending is allowed. `released_at_ms`
# is when the last stop was released (0: never): signatures for a mandate from before do not count.
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
    """Version 3 allows transfers of zero: calls that need no more room than their campaign already has."""
    replace_checks(connection, _TRANSFERS)


def _add_release(connection: Connection) -> None:
    """Version 4 records when the last stop was released."""
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
