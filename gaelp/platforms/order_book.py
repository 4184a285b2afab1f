"""Every order that ever reached its reservation, and its outcome; a table in the ledger's database.

The ledger records what an order may cost, this table what it was. An order is stored before its room is reserved, so
that every transfer a crash leaves behind can be explained.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import Any, Literal

from sqlalchemy import CheckConstraint, Column, Connection, Index, MetaData, Row, Table, Text, text

from gaelp.budget.ledger import KeyReused, Ledger, LedgerBroken
from gaelp.database import Schema, big_integer
from gaelp.database.schema import replace_checks
from gaelp.errors import GaelpError
from gaelp.money import Micros
from gaelp.platforms.order import STORED, Order

__all__ = [
    "NOT_READ_BACK",
    "ORDER_TABLE",
    "OrderRow",
    "all_orders",
    "budgets_of_campaign",
    "create_order_book",
    "find_order",
    "known_campaigns",
    "newest_orders",
    "note_read_back",
    "open_orders",
    "orders_of_campaign",
    "orders_of_day",
    "record_order",
    "record_outcome",
    "refuse_other_body",
]

OrderEnding = Literal["done", "rejected"]

NOT_READ_BACK = "it was not read back yet"  # the detail of a done order until it has been read back

ORDER_TABLE = "platform_order"
_SAID_TWICE = ("key", "campaign", "kind", "renews", "daily_micros")  # in the body, and again in columns for queries
_KEPT_ORDERS = 16_384
_REMEDY = "somebody has changed the order book; restore a copy that `gaelp ledger verify` accepts"

_metadata = MetaData()
_COLUMNS = "key, account_id, campaign, kind, body, renews, daily_micros, day, amount_micros, outcome, detail"

_ORDERS = Table(
    ORDER_TABLE,
    _metadata,
    Column("key", Text, primary_key=True),
    *(Column(name, Text, nullable=False) for name in ("account_id", "campaign", "kind", "body", "renews", "day")),
    *(Column(name, big_integer, nullable=False) for name in ("daily_micros", "amount_micros", "number")),
    *(Column(name, Text, nullable=False) for name in ("outcome", "detail")),
    CheckConstraint("outcome IN ('', 'done', 'rejected')", name="outcome_is_known"),
    CheckConstraint("daily_micros > 0 AND amount_micros >= 0", name="order_costs_something"),
    sqlite_strict=True,
)


def _allow_zero(connection: Connection) -> None:
    """Version 2 allows orders that need no more room than their campaign already has."""
    replace_checks(connection, _ORDERS)


Index("platform_order_by_campaign", _ORDERS.c.account_id, _ORDERS.c.campaign, _ORDERS.c.kind, _ORDERS.c.number)
Index("platform_order_by_day", _ORDERS.c.account_id, _ORDERS.c.day, _ORDERS.c.campaign)


def _add_indexes(connection: Connection) -> None:
    """Version 3 finds the orders of a campaign or a day without reading all of them."""
    for index in _ORDERS.indexes:
        index.create(connection, checkfirst=True)


_SCHEMA = Schema("orders", _metadata, old_tables=(ORDER_TABLE,), upgrades=(_allow_zero, _add_indexes))

# Orders are numbered, because two may arrive within one tick of the clock.
_NEXT = "(SELECT COALESCE(MAX(number), 0) + 1 FROM platform_order)"
_INSERT = text(
    f"INSERT INTO platform_order ({_COLUMNS}, number) VALUES (:key, :account_id, :campaign, :kind, :body, :renews,"  # noqa: S608
    f" :daily_micros, :day, :amount_micros, '', '', {_NEXT}) ON CONFLICT (key) DO NOTHING"
)
# An order that never got its room is updated: day and amount are those of the new attempt.
_REWRITE = text(
    f"UPDATE platform_order SET day = :day, amount_micros = :amount_micros, number = {_NEXT}"  # noqa: S608 - as above
    " WHERE key = :key AND body = :body AND outcome = ''"
    " AND NOT EXISTS (SELECT 1 FROM ledger_transfer t WHERE t.key = :key)"
)
_END = text("UPDATE platform_order SET outcome = :outcome, detail = :detail WHERE key = :key AND outcome = ''")
_NOTE = text("UPDATE platform_order SET detail = :detail WHERE key = :key AND outcome = 'done'")
_SELECT = f"SELECT {_COLUMNS} FROM platform_order"  # noqa: S608 - constants of this module
_FIND = text(f"{_SELECT} WHERE key = :key")
_CAMPAIGNS = text("SELECT DISTINCT campaign FROM platform_order WHERE account_id = :account_id ORDER BY campaign")
_ALL = text(f"{_SELECT} ORDER BY number, key")
_OPEN = text(f"{_SELECT} WHERE account_id = :account_id AND outcome = '' ORDER BY number, key")
_OF_DAY = text(f"{_SELECT} WHERE account_id = :account_id AND day = :day ORDER BY number, key")
_BUDGETS_BEFORE = text(
    f"{_SELECT} WHERE account_id = :account_id AND campaign = :campaign AND kind = 'budget' AND outcome = 'done'"
    " AND day < :before ORDER BY number, key"
)
_OF_CAMPAIGN_DAY = text(
    f"{_SELECT} WHERE account_id = :account_id AND day = :day AND campaign = :campaign ORDER BY number, key"
)
_OF_CAMPAIGN = text(f"{_SELECT} WHERE account_id = :account_id AND campaign = :campaign ORDER BY number DESC, key")
_OF_KIND = text(
    f"{_SELECT} WHERE account_id = :account_id AND campaign = :campaign AND kind = :kind"
    " ORDER BY number DESC, key LIMIT :page OFFSET :after"
)
_PAGE = 8  # whoever looks for the newest order of a kind seldom needs more


@dataclass(frozen=True, slots=True)
class OrderRow:
    """An order as stored; `day` is the account's day of its reservation, `outcome` is empty while unknown.

    `detail` is why it was rejected or, for a done order, what was wrong when it was read back (empty if nothing).
    """

    key: str
    account_id: str
    campaign: str
    kind: str
    body: str
    renews: str
    daily_micros: Micros
    day: str
    amount_micros: Micros
    outcome: Literal["", "done", "rejected"]
    detail: str

    @property
    def order(self) -> Order:
        """The order itself."""
        return _parsed(self.body)


@lru_cache(_KEPT_ORDERS)
def _parsed(body: str) -> Order:
    """Orders are read again and again, and never change."""
    return Order.model_validate_json(body, context=STORED)


def create_order_book(ledger: Ledger) -> None:
    """Create the table if it is missing, and upgrade an older one."""
    ledger.database.install(_SCHEMA)


def record_order(ledger: Ledger, order: Order, *, account_id: str, day: str, amount_micros: Micros) -> OrderRow:
    """Store an order before its reservation; if its key has room already, the stored order is kept."""
    values = {
        **order.model_dump(include=set(_SAID_TWICE)),
        "account_id": account_id,
        "body": order.body,
        "day": day,
        "amount_micros": amount_micros,
    }
    with ledger.transaction() as connection:
        if connection.execute(_INSERT, values).rowcount == 0:
            connection.execute(_REWRITE, {name: values[name] for name in ("key", "body", "day", "amount_micros")})
        row = _row(connection.execute(_FIND, {"key": order.key}).one())
    refuse_other_body(row, order)
    return row


def refuse_other_body(row: OrderRow, order: Order) -> None:
    """Refuse a key that was used for a different order."""
    if row.body != order.body:
        raise KeyReused(
            f"the key {order.key!r} was used for {row.kind} of {row.campaign} at {row.daily_micros} micros a day, now"
            f" for {order.kind} of {order.campaign} at {order.daily_micros}: a new order needs a new key"
        )


def record_outcome(ledger: Ledger, key: str, outcome: OrderEnding, detail: str = "") -> None:
    """Store the outcome of an order, once; the same outcome again changes nothing."""
    with ledger.transaction() as connection:
        if connection.execute(_END, {"key": key, "outcome": outcome, "detail": detail[:500]}).rowcount == 1:
            return
        row = connection.execute(_FIND, {"key": key}).one_or_none()
    if row is None or row.outcome != outcome:
        state = "is unknown" if row is None else f"ended as {row.outcome}"
        raise GaelpError(f"order {key!r} {state} and cannot end as {outcome}: check it on the platform by hand")


def note_read_back(ledger: Ledger, key: str, finding: str) -> None:
    """Store the result of reading a done order back: what is wrong, empty if nothing."""
    with ledger.transaction() as connection:
        connection.execute(_NOTE, {"key": key, "detail": finding[:500]})


def find_order(ledger: Ledger, key: str) -> OrderRow | None:
    """The order with this key."""
    with ledger.snapshot() as connection:
        row = connection.execute(_FIND, {"key": key}).one_or_none()
    return None if row is None else _row(row)


def all_orders(connection: Connection) -> list[OrderRow]:
    """Every order as stored, oldest first, inside a transaction; unchecked, for verification."""
    return [OrderRow(*row) for row in connection.execute(_ALL)]


def open_orders(ledger: Ledger, account_id: str) -> list[OrderRow]:
    """The orders without an outcome, oldest first."""
    with ledger.snapshot() as connection:
        return [_row(row) for row in connection.execute(_OPEN, {"account_id": account_id})]


def known_campaigns(ledger: Ledger, account_id: str) -> tuple[str, ...]:
    """Every campaign that was ever ordered for an account."""
    with ledger.snapshot() as connection:
        return tuple(connection.execute(_CAMPAIGNS, {"account_id": account_id}).scalars())


def orders_of_day(ledger: Ledger, account_id: str, day: str, campaign: str | None = None) -> list[OrderRow]:
    """The orders of a day of the account, or of one campaign on it, oldest first."""
    values = {"account_id": account_id, "day": day} | ({} if campaign is None else {"campaign": campaign})
    with ledger.snapshot() as connection:
        return [_row(row) for row in connection.execute(_OF_DAY if campaign is None else _OF_CAMPAIGN_DAY, values)]


def orders_of_campaign(ledger: Ledger, account_id: str, campaign: str) -> list[OrderRow]:
    """The orders of a campaign, newest first."""
    values = {"account_id": account_id, "campaign": campaign}
    with ledger.snapshot() as connection:
        return [_row(row) for row in connection.execute(_OF_CAMPAIGN, values)]


def newest_orders(ledger: Ledger, account_id: str, campaign: str, kind: str) -> Iterator[OrderRow]:
    """The orders of one kind of a campaign, newest first; read page by page, as far as they are asked for."""
    values = {"account_id": account_id, "campaign": campaign, "kind": kind, "page": _PAGE}
    for page in count():
        with ledger.snapshot() as connection:
            rows = [_row(row) for row in connection.execute(_OF_KIND, {**values, "after": page * _PAGE})]
        yield from rows
        if len(rows) < _PAGE:
            return


def budgets_of_campaign(ledger: Ledger, account_id: str, campaign: str, *, before: str) -> list[OrderRow]:
    """The done budget orders of a campaign on days before `before`, oldest first."""
    values = {"account_id": account_id, "campaign": campaign, "before": before}
    with ledger.snapshot() as connection:
        return [_row(row) for row in connection.execute(_BUDGETS_BEFORE, values)]


def _row(row: Row[Any]) -> OrderRow:
    """Read a row and check that its columns match its body: columns can be edited by hand, the body was signed.

    A row refused here neither counts as reserved nor is sent, and `reconcile` pauses what it cannot compare.
    """
    read = OrderRow(*row)
    try:
        order = read.order
    except ValueError:
        raise LedgerBroken(f"the order {read.key!r} of the order book contains no order: {_REMEDY}") from None
    for name in _SAID_TWICE:
        said, stored = getattr(order, name), getattr(read, name)
        if said != stored:
            raise LedgerBroken(f"the order {read.key!r} says {name}={said!r}, its row says {stored!r}: {_REMEDY}")
    return read
