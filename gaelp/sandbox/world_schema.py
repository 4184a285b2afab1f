"""The tables of a sandbox: resources of the fronts, what is served, and the events that came of it."""

from sqlalchemy import CheckConstraint, Column, Index, LargeBinary, MetaData, Table, Text

from gaelp.database import Schema, Store, big_integer
from gaelp.sandbox.exchange_events import MEASURES

__all__ = ["FIRST_ID", "STORE", "TABLES", "WORLD_NAME"]

WORLD_NAME = "world.db"  # in the folder of a sandbox
FIRST_ID = 10_000_000_001  # eleven digits, as ids of campaigns have

_metadata = MetaData()


Table(
    "world",
    _metadata,
    Column("id", big_integer, primary_key=True, autoincrement=False),
    Column("spec", Text, nullable=False),  # JSON
    Column("tick", big_integer, nullable=False),  # everything before it has happened and is stored
    Column("barrier_tick", big_integer),  # time does not pass it
    Column("next_id", big_integer, nullable=False),
    CheckConstraint("id = 1", name="world_is_one_row"),
    sqlite_strict=True,
)
Table(
    "resource",
    _metadata,
    Column("account", Text, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("id", big_integer, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index("resource_by_name", "account", "kind", "name"),
    sqlite_strict=True,
)
Table(
    "operation_count",
    _metadata,
    Column("account", Text, primary_key=True),
    Column("day", Text, primary_key=True),  # of the account
    Column("operations", big_integer, nullable=False),
    sqlite_strict=True,
)
Table(
    "served_campaign",
    _metadata,
    Column("id", big_integer, primary_key=True, autoincrement=False),
    Column("account", Text, nullable=False),
    Column("first_tick", big_integer, nullable=False),  # from which it was served for the first time
    sqlite_strict=True,
)
Table(  # every change of what is served, with the tick from which it holds
    "serve_call",
    _metadata,
    Column("number", big_integer, primary_key=True, autoincrement=True),
    Column("tick", big_integer, nullable=False),
    Column("campaign", Text, nullable=False),  # JSON
    sqlite_strict=True,
)

Table(  # what is to be served from a later tick on; moved to serve_call when that has come
    "serve_later",
    _metadata,
    Column("tick", big_integer, primary_key=True, autoincrement=False),
    Column("id", big_integer, primary_key=True, autoincrement=False),  # of the campaign
    Column("campaign", Text, nullable=False),  # JSON
    sqlite_strict=True,
)


def _event_table(name: str, keys: tuple[str, ...], values: tuple[str, ...]) -> Table:
    """Rows of the exchange in the order in which they happen: the first key is a tick."""
    return Table(
        name,
        _metadata,
        *(Column(key, big_integer, primary_key=True, autoincrement=False) for key in keys),
        *(Column(value, big_integer, nullable=False) for value in values),
        sqlite_with_rowid=False,
        sqlite_strict=True,
    )


# Columns as in exchange_events.py; GROUP is a word of SQL.
_event_table("hour_total", ("hour_tick", "campaign", "ad_group", "device"), MEASURES)
_event_table("click", ("tick", "id"), ("campaign", "ad_group", "device", "cost_micros"))
_event_table(
    "conversion",
    ("click_tick", "id"),
    ("click", "campaign", "ad_group", "device", "tick", "reported_tick", "refunded_tick", "value_micros"),
)
_event_table("credit", ("click_tick", "click"), ("campaign", "ad_group", "device", "tick", "cost_micros"))
Table(  # the exchange as it was at a tick; the newest is enough
    "snapshot",
    _metadata,
    Column("tick", big_integer, primary_key=True, autoincrement=False),
    Column("served", big_integer, nullable=False),  # the last serve_call it contains
    Column("data", LargeBinary, nullable=False),
    sqlite_strict=True,
)

TABLES = tuple(_metadata.tables)
STORE = Store(
    title="the sandbox's world",
    file_name=WORLD_NAME,
    lock_key=0x6761_656C_7006,
    schema=Schema("sandbox", _metadata),
    meanwhile="nothing is served",
    try_again="check the disk and the rights of its folder, then start the sandbox again",
    verify_command="gaelp sandbox status",
    if_damaged=(
        "Nothing was changed: copy the folder if you want to keep it, then begin again with `gaelp sandbox reset`"
    ),
    if_absent="make one with `gaelp sandbox start`",
    keep_connections=True,
    synced=False,
)
