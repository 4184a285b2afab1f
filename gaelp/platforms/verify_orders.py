"""Compare the order book, the ledger and the audit log for every order.

The book records what was ordered, the ledger what was reserved for it, the log who approved it. A change, deletion or
restored backup of one of the three contradicts the others.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Literal

from pydantic import ValidationError
from sqlalchemy import Connection, Row, inspect, text

from gaelp.approvals import AuditRow, Mandate, action_hash
from gaelp.approvals.mandate_validity import REVOKED
from gaelp.budget.ledger import UNRESERVED, AdAccount, CapKind, Ledger, LedgerBroken, Transfer, TransferState
from gaelp.budget.ledger.findings import LedgerFinding, differences
from gaelp.budget.ledger.transfers import COLUMNS
from gaelp.errors import GaelpError
from gaelp.platforms.mandate_check import excesses
from gaelp.platforms.order import Order, action_of
from gaelp.platforms.order_book import ORDER_TABLE, OrderRow, all_orders
from gaelp.platforms.verify_mandates import LoggedMandates, check_ceilings, overspent_mandates, read_ceilings

__all__ = ["REFUSED", "order_findings", "verify_orders"]

REFUSED = "order.refused"  # the order was refused after its approval was used and before it was stored
_REQUESTED, _USED = "approval.requested", "approval.used"
_OF_AN_ORDER = (CapKind.CAMPAIGN, CapKind.CAMPAIGN_DAY)
_SENT, _NOT_SENT = (TransferState.IN_FLIGHT, TransferState.POSTED), (TransferState.VOIDED, TransferState.EXPIRED)

_ACCOUNTS = text("SELECT id, currency, time_zone FROM ledger_account")
_TRANSFERS = text(f"SELECT {COLUMNS} FROM ledger_transfer")  # noqa: S608 - a constant of the package


@dataclass(frozen=True, slots=True)
class _Use:
    """An approval that was used for an order, according to the log."""

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
    """`verify_orders`, with an unreadable log as a finding: it proves no order."""
    try:
        return verify_orders(ledger, read_log)
    except (GaelpError, ValueError, KeyError, TypeError) as problem:
        # `gaelp audit verify` says what is wrong with the log.
        return (LedgerFinding(where="orders", what="audit log", expected="readable", actual=str(problem)[:300]),)


def verify_orders(ledger: Ledger, read_log: Callable[[], Sequence[AuditRow]]) -> tuple[LedgerFinding, ...]:
    """List every contradiction; nothing is changed, and spenders may run meanwhile.

    The log is read before and after the ledger: an order is stored after its approval is used, so every use in the
    first reading has its order, and every order has its use in the second.
    """
    earlier = _read_log(read_log())
    with ledger.snapshot() as connection:
        books = _read(connection)
    return tuple(_findings(books, earlier, _read_log(read_log())))


def _findings(books: _Books, earlier: _Log, later: _Log) -> Iterator[LedgerFinding]:
    of_orders = [transfer for transfer in books.transfers.values() if _needs_an_order(transfer)]
    if not books.has_table and (of_orders or earlier.uses):
        yield LedgerFinding(where=ORDER_TABLE, what="table", expected="there", actual="gone")
    for row in books.orders.values():
        yield from _check_row(row, books, later)
    overspent = overspent_mandates(books.orders.values(), books.transfers)
    yield from check_ceilings(books.ceilings, later.mandates, overspent)
    for transfer in of_orders:
        if transfer.key not in books.orders:
            yield LedgerFinding(
                where=transfer.key, what="order of this transfer", expected="in the order book", actual="none"
            )
    for use in earlier.uses:
        if use.key not in books.orders and use.action not in earlier.refused:
            yield LedgerFinding(
                where=use.key,
                what=f"order whose approval was used (row {use.seq} of the log)",
                expected="in the order book",
                actual="none: it was deleted, the ledger is older, or a crash came between (then repeat the order)",
            )


def _needs_an_order(transfer: Transfer) -> bool:
    """Whether a transfer holds room of a campaign, which only orders take; unreserved cost never does."""
    if transfer.key.startswith(UNRESERVED) and transfer.state is TransferState.VOIDED:
        return False
    return any(cap.kind in _OF_AN_ORDER for cap in transfer.caps)


def _check_row(row: OrderRow, books: _Books, log: _Log) -> Iterator[LedgerFinding]:
    where = f"order {row.key}"
    try:
        order = row.order
    except ValidationError:
        yield LedgerFinding(where=where, what="body", expected="an order", actual=row.body[:80])
        return
    columns = ("key", "campaign", "kind", "renews", "daily_micros")
    yield from differences(where, *((name, getattr(order, name), getattr(row, name)) for name in columns))
    yield from differences(where, ("body, as stored", order.body, row.body))
    yield from _check_transfer(where, row, books.transfers.get(row.key))
    yield from _check_approval(where, row, order, books, log)


def _check_transfer(where: str, row: OrderRow, transfer: Transfer | None) -> Iterator[LedgerFinding]:
    if transfer is None:
        if row.outcome == "done":
            yield LedgerFinding(where=where, what="transfer of what was done", expected="in the ledger", actual="none")
        return
    yield from differences(
        where,
        ("account, of its transfer", transfer.account_id, row.account_id),
        ("amount, of its transfer", transfer.amount_micros, row.amount_micros),
    )
    # Midnight may fall between the order and its reservation; such an order is freed and never done.
    if row.day != transfer.day and (row.outcome == "done" or row.day != _day_before(transfer.day)):
        yield LedgerFinding(where=where, what="day, of its transfer", expected=transfer.day, actual=row.day)
    allowed = {"done": _SENT, "rejected": _NOT_SENT}.get(row.outcome)
    if allowed is not None and transfer.state not in allowed:
        expected = f"{row.outcome}, with a transfer that is {' or '.join(allowed)}"
        yield LedgerFinding(where=where, what="outcome", expected=expected, actual=f"its transfer is {transfer.state}")


def _check_approval(where: str, row: OrderRow, order: Order, books: _Books, log: _Log) -> Iterator[LedgerFinding]:
    if row.renews:
        yield from _check_renewed(where, order, books.orders.get(row.renews))
        return
    if order.mandate is not None:
        yield from _check_mandate(where, row, order, log.mandates.signed.get(order.mandate))
        return
    use = next((use for use in reversed(log.uses) if use.key == row.key), None)
    if use is None:
        yield LedgerFinding(where=where, what="approval", expected="used, according to the log", actual="none")
        return
    account = books.accounts.get(row.account_id)
    approved = "" if account is None else action_hash(action_of(order, account, use.world))
    if approved != use.action:
        expected = f"the action {use.action[:12]} of row {use.seq}"
        yield LedgerFinding(
            where=where, what="approval", expected=expected, actual=f"it asks for {approved[:12] or 'none'}"
        )


def _check_mandate(where: str, row: OrderRow, order: Order, mandate: Mandate | None) -> Iterator[LedgerFinding]:
    """An order must be inside its signed mandate; how fast budgets rose is not checked again."""
    if mandate is None:
        yield LedgerFinding(
            where=where, what="mandate", expected="signed, according to the log", actual=str(order.mandate)[:12]
        )
        return
    for wrong in excesses(mandate, order, date.fromisoformat(row.day), mandate.campaign_daily_micros):
        yield LedgerFinding(where=where, what="mandate", expected="an order inside it", actual=wrong)


def _check_renewed(where: str, order: Order, base: OrderRow | None) -> Iterator[LedgerFinding]:
    """A renewal uses the approval of another order, and must be equal to it."""
    if base is None:
        yield LedgerFinding(where=where, what="order that it renews", expected=order.renews, actual="none")
    elif order.model_copy(update={"key": base.key, "renews": ""}).body != base.body:
        yield LedgerFinding(
            where=where, what="body, of what it renews", expected=base.body[:200], actual=order.body[:200]
        )


def _read(connection: Connection) -> _Books:
    has_table = inspect(connection).has_table(ORDER_TABLE)
    transfers = {}
    for row in connection.execute(_TRANSFERS):
        try:
            transfers[row.key] = Transfer.from_row(row)
        except LedgerBroken:  # reported by the ledger's own verification
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
    """Whether an action is of an order: its subject ends with the order's key, which is the consumer."""
    return action.get("kind") == "budget" and str(action.get("subject")).endswith(f" as {consumer}")


def _day_before(day: str) -> str:
    try:
        return (date.fromisoformat(day) - timedelta(days=1)).isoformat()
    except (ValueError, OverflowError):
        return ""
