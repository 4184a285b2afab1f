"""Whether the order book, the ledger and the audit log tell the same of every order.

The book says what was ordered, the ledger what was set aside for it, the log who approved it. Whoever changes, deletes
or puts back one of the three is missed by the others.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Literal

from pydantic import ValidationError
from sqlalchemy import Connection, Row, inspect, text

from gaelp.approvals import AuditRow, Mandate, action_hash
from gaelp.approvals.in_force import REVOKED
from gaelp.budget.ledger import UNRESERVED, AdAccount, CapKind, Ledger, LedgerBroken, Transfer, TransferState
from gaelp.budget.ledger.findings import LedgerFinding, differences
from gaelp.budget.ledger.transfers import COLUMNS
from gaelp.errors import GaelpError
from gaelp.platforms.mandate_check import excesses
from gaelp.platforms.order import Order, action_of
from gaelp.platforms.order_book import ORDER_TABLE, OrderRow, all_orders
from gaelp.platforms.verify_mandates import LoggedMandates, check_ceilings, overspent_mandates, read_ceilings

__all__ = ["REFUSED", "order_findings", "verify_orders"]

REFUSED = "order.refused"  # an approval was used, and the door then refused the order before it was written down
_REQUESTED, _USED = "approval.requested", "approval.used"
_OF_AN_ORDER = (CapKind.CAMPAIGN, CapKind.CAMPAIGN_DAY)
_SENT, _NOT_SENT = (TransferState.IN_FLIGHT, TransferState.POSTED), (TransferState.VOIDED, TransferState.EXPIRED)

_ACCOUNTS = text("SELECT id, currency, time_zone FROM ledger_account")
_TRANSFERS = text(f"SELECT {COLUMNS} FROM ledger_transfer")  # noqa: S608 - a constant of the package


@dataclass(frozen=True, slots=True)
class _Use:
    """An approval that was used for an order, as the log tells it."""

    seq: int
    key: str
    action: str
    world: Literal["live", "sandbox"]


@dataclass(frozen=True, slots=True)
class _Log:
    """Approvals used for orders, actions that the door refused after that, and mandates."""

    uses: list[_Use]
    refused: set[str]
    mandates: LoggedMandates


@dataclass(frozen=True, slots=True)
class _Books:
    """Orders by their key, transfers by theirs, accounts by their id, and the caps of mandates.

    `has_table` is False if the book is gone.
    """

    orders: dict[str, OrderRow]
    transfers: dict[str, Transfer]
    accounts: dict[str, AdAccount]
    ceilings: list[Row[Any]]
    has_table: bool


def order_findings(ledger: Ledger, read_log: Callable[[], Sequence[AuditRow]]) -> tuple[LedgerFinding, ...]:
    """As `verify_orders`; a log that cannot be read is a finding too, for it proves no order."""
    try:
        return verify_orders(ledger, read_log)
    except (GaelpError, ValueError, KeyError, TypeError) as problem:
        # `gaelp audit verify` says what is wrong with the log.
        return (
            LedgerFinding(where="orders", what="audit log", expected="one that can be read", found=str(problem)[:300]),
        )


def verify_orders(ledger: Ledger, read_log: Callable[[], Sequence[AuditRow]]) -> tuple[LedgerFinding, ...]:
    """Each contradiction; nothing is changed, and spenders may go on meanwhile.

    The log is read before the books and after them: an order is written after its approval was used, so that every use
    of the first reading has its order, and every order its use in the second.
    """
    earlier = _read_log(read_log())
    with ledger.snapshot() as connection:
        books = _read(connection)
    return tuple(_findings(books, earlier, _read_log(read_log())))


def _findings(books: _Books, earlier: _Log, later: _Log) -> Iterator[LedgerFinding]:
    need_one = [one for one in books.transfers.values() if _needs_an_order(one)]
    if not books.has_table and (need_one or earlier.uses):
        yield LedgerFinding(where=ORDER_TABLE, what="table", expected="there", found="gone")
    for row in books.orders.values():
        yield from _check_row(row, books, later)
    overspent = overspent_mandates(books.orders.values(), books.transfers)
    yield from check_ceilings(books.ceilings, later.mandates, overspent)
    for transfer in need_one:
        if transfer.key not in books.orders:
            yield LedgerFinding(
                where=transfer.key, what="order of this transfer", expected="in the order book", found="none"
            )
    for use in earlier.uses:
        if use.key not in books.orders and use.action not in earlier.refused:
            yield LedgerFinding(
                where=use.key,
                what=f"order whose approval was used (row {use.seq} of the log)",
                expected="in the order book",
                found="none: it was deleted, these are older books, or a crash came between (then repeat the order)",
            )


def _needs_an_order(transfer: Transfer) -> bool:
    """Room for a campaign is taken by orders; the transfer of a cost that nobody ordered never held any."""
    if transfer.key.startswith(UNRESERVED) and transfer.state is TransferState.VOIDED:
        return False
    return any(cap.kind in _OF_AN_ORDER for cap in transfer.caps)


def _check_row(row: OrderRow, books: _Books, log: _Log) -> Iterator[LedgerFinding]:
    where = f"order {row.key}"
    try:
        order = row.order
    except ValidationError:
        yield LedgerFinding(where=where, what="body", expected="an order", found=row.body[:80])
        return
    columns = ("key", "campaign", "kind", "renews", "daily_micros")
    yield from differences(where, *((name, getattr(order, name), getattr(row, name)) for name in columns))
    yield from differences(where, ("body, as it is written", order.body, row.body))
    yield from _check_transfer(where, row, books.transfers.get(row.key))
    yield from _check_approval(where, row, order, books, log)


def _check_transfer(where: str, row: OrderRow, transfer: Transfer | None) -> Iterator[LedgerFinding]:
    if transfer is None:
        if row.outcome == "done":
            yield LedgerFinding(where=where, what="transfer of what was done", expected="in the ledger", found="none")
        return
    yield from differences(
        where,
        ("account, of its transfer", transfer.account_id, row.account_id),
        ("amount, of its transfer", transfer.amount_micros, row.amount_micros),
    )
    # Midnight may come between the order and its room; such an order is given back, and is never done.
    if row.day != transfer.day and (row.outcome == "done" or row.day != _day_before(transfer.day)):
        yield LedgerFinding(where=where, what="day, of its transfer", expected=transfer.day, found=row.day)
    allowed = {"done": _SENT, "rejected": _NOT_SENT}.get(row.outcome)
    if allowed is not None and transfer.state not in allowed:
        expected = f"{row.outcome}, with a transfer that is {' or '.join(allowed)}"
        yield LedgerFinding(where=where, what="outcome", expected=expected, found=f"its transfer is {transfer.state}")


def _check_approval(where: str, row: OrderRow, order: Order, books: _Books, log: _Log) -> Iterator[LedgerFinding]:
    if row.renews:
        yield from _check_renewed(where, order, books.orders.get(row.renews))
        return
    if order.mandate is not None:
        yield from _check_mandate(where, row, order, log.mandates.signed.get(order.mandate))
        return
    use = next((use for use in reversed(log.uses) if use.key == row.key), None)
    if use is None:
        yield LedgerFinding(where=where, what="approval", expected="used, as the log tells", found="none")
        return
    account = books.accounts.get(row.account_id)
    approved = "" if account is None else action_hash(action_of(order, account, use.world))
    if approved != use.action:
        expected = f"the action {use.action[:12]} of row {use.seq}"
        yield LedgerFinding(
            where=where, what="approval", expected=expected, found=f"it asks for {approved[:12] or 'none'}"
        )


def _check_mandate(where: str, row: OrderRow, order: Order, mandate: Mandate | None) -> Iterator[LedgerFinding]:
    """An order lives on a mandate that people signed, and is inside it; how fast budgets rose is not checked again."""
    if mandate is None:
        yield LedgerFinding(
            where=where, what="mandate", expected="signed, as the log tells", found=str(order.mandate)[:12]
        )
        return
    for wrong in excesses(mandate, order, date.fromisoformat(row.day), mandate.campaign_daily_micros):
        yield LedgerFinding(where=where, what="mandate", expected="an order inside it", found=wrong)


def _check_renewed(where: str, order: Order, base: OrderRow | None) -> Iterator[LedgerFinding]:
    """A renewal lives on the approval of another order, and says the same as that."""
    if base is None:
        yield LedgerFinding(where=where, what="order that it renews", expected=order.renews, found="none")
    elif order.model_copy(update={"key": base.key, "renews": ""}).body != base.body:
        yield LedgerFinding(
            where=where, what="body, of what it renews", expected=base.body[:200], found=order.body[:200]
        )


def _read(connection: Connection) -> _Books:
    has_table = inspect(connection).has_table(ORDER_TABLE)
    transfers = {}
    for row in connection.execute(_TRANSFERS):
        try:
            transfers[row.key] = Transfer.from_row(row)
        except LedgerBroken:  # named by the ledger's own verification
            continue
    return _Books(
        {row.key: row for row in all_orders(connection)} if has_table else {},
        transfers,
        {row.id: AdAccount(row.id, row.currency, row.time_zone) for row in connection.execute(_ACCOUNTS)},
        read_ceilings(connection),
        has_table,
    )


def _read_log(rows: Sequence[AuditRow]) -> _Log:
    actions: dict[str, dict[str, Any]] = {}
    log = _Log([], set(), LoggedMandates())
    for row in rows:
        if row.kind not in (_REQUESTED, _USED, REFUSED, REVOKED):
            continue
        body = json.loads(row.body)
        wanted = str(body["action_hash"])
        action = actions.get(wanted, {})
        if row.kind == _REQUESTED:
            actions[wanted] = body["request"]["action"]
        elif row.kind == REFUSED:
            log.refused.add(wanted)
        elif row.kind == REVOKED:
            log.mandates.revoked.add(wanted)
        elif _is_order(action, body["consumer"]):
            log.uses.append(_Use(row.seq, body["consumer"], wanted, action["world"]))
        elif action.get("kind") == "mandate":
            log.mandates.signed[wanted] = Mandate.model_validate_json(json.dumps(action["mandate"]))
        elif action.get("kind") == "revive":
            log.mandates.stop_released()
    return log


def _is_order(action: dict[str, Any], consumer: str) -> bool:
    """As `action_of` writes it: the key of the order, which is its consumer, ends the subject."""
    return action.get("kind") == "budget" and str(action.get("subject")).endswith(f" as {consumer}")


def _day_before(day: str) -> str:
    try:
        return (date.fromisoformat(day) - timedelta(days=1)).isoformat()
    except (ValueError, OverflowError):
        return ""
