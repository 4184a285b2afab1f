"""Settle calls without an answer: look them up by key, and settle them only once the outcome is certain."""

from collections.abc import Iterable
from datetime import UTC, datetime

from gaelp.budget.ledger import Transfer, TransferState, UnknownTransfer, find_transfer, void
from gaelp.checks.raised import ends_the_program, in_words
from gaelp.platforms.calling import as_outcome
from gaelp.platforms.guard import Guard
from gaelp.platforms.order_book import NOT_READ_BACK, OrderRow, record_outcome
from gaelp.platforms.platform import CallResult, Done, Rejected, Unknown

__all__ = ["conclude", "held_transfer", "resolve", "transfer_of", "transfers_of", "was_sent"]


def transfer_of(guard: Guard, key: str) -> Transfer | None:
    """The transfer of an order; None if it never got its room."""
    try:
        return find_transfer(guard.ledger, key)
    except UnknownTransfer:
        return None


def transfers_of(guard: Guard, rows: Iterable[OrderRow]) -> list[Transfer]:
    """The transfers of those orders that got their room."""
    return [transfer for row in rows if (transfer := transfer_of(guard, row.key)) is not None]


def held_transfer(guard: Guard, key: str) -> Transfer | None:
    """The transfer of an order if it still holds room."""
    transfer = transfer_of(guard, key)
    return transfer if transfer is not None and not transfer.state.is_final else None


def was_sent(guard: Guard, row: OrderRow) -> bool:
    """Whether an order was carried out, or may have been."""
    if row.outcome:
        return row.outcome == "done"
    transfer = transfer_of(guard, row.key)
    return transfer is not None and transfer.state in (TransferState.IN_FLIGHT, TransferState.POSTED)


def conclude(guard: Guard, key: str, outcome: CallResult) -> CallResult:
    """Record a platform's answer: a rejected order frees its room, an unknown one keeps it.

    A done order stays marked until it has been read back, so that after a crash the retry does it.
    """
    match outcome:
        case Done():
            record_outcome(guard.ledger, key, "done", NOT_READ_BACK)
        case Rejected(reason):
            void(guard.ledger, key)
            record_outcome(guard.ledger, key, "rejected", reason)
    return outcome


def resolve(guard: Guard, row: OrderRow) -> CallResult | None:
    """Settle an order of an earlier attempt as far as possible; None if it was certainly not sent yet."""
    if row.outcome:
        return Done() if row.outcome == "done" else Rejected(row.detail)
    transfer = transfer_of(guard, row.key)
    if transfer is None or transfer.state is TransferState.RESERVED:
        return None
    if transfer.state is TransferState.IN_FLIGHT:
        return conclude(guard, row.key, _look_up(guard, transfer))
    if transfer.state is TransferState.POSTED:
        return conclude(guard, row.key, Done())
    gone = Rejected(f"its reservation is {transfer.state}: it was not sent or had no effect")
    record_outcome(guard.ledger, row.key, "rejected", gone.reason)
    return gone


def _look_up(guard: Guard, transfer: Transfer) -> CallResult:
    """What the platform says about a key; a missing trace means no effect only once `trace_within` is over."""
    try:
        answer = guard.platform.look_up(transfer.key)
        if answer is not None:
            return as_outcome(answer)
    except BaseException as error:  # the outcome stays unknown
        if ends_the_program(error):
            raise
        return Unknown(f"it could not be looked up: {in_words(error)}")
    # It was sent before its time to send was over, so a trace may be missing until `trace_within` after that.
    latest = datetime.fromtimestamp(transfer.expires_at_ms / 1000, UTC) + guard.trace_within
    if guard.ledger.clock.now() < latest:
        return Unknown(f"no trace of it yet; it counts as not arrived from {latest.isoformat()} on")
    return Rejected(f"it left no trace until {latest.isoformat()}, so it never arrived")
