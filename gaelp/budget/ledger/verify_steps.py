"""Compare the state of a transfer with the steps in its journal."""

from collections.abc import Iterator
from datetime import timedelta

from gaelp.budget.ledger.findings import LedgerFinding
from gaelp.budget.ledger.reservations import MAX_TIME_TO_SEND
from gaelp.budget.ledger.transfers import Transfer, TransferState

__all__ = ["check_steps"]

# Room is held once when it is reserved, and once more when it is sent.
_HOLDS = {
    TransferState.RESERVED: (1,),
    TransferState.EXPIRED: (1,),
    TransferState.IN_FLIGHT: (2,),
    TransferState.POSTED: (1, 2),
    TransferState.VOIDED: (1, 2),
}
_STEPS = {0: "no room held", 1: "reserved, not sent", 2: "reserved and sent"}


def check_steps(transfer: Transfer, holds: int, released_at_ms: int) -> Iterator[LedgerFinding]:
    """Check a transfer's history: was it sent, did it expire on time, are its timestamps valid?"""
    allowed = _HOLDS[transfer.state] if transfer.amount_micros else (0,)  # a transfer of zero has no journal entries
    if holds not in allowed:
        expected = " or ".join(_STEPS[number] for number in allowed)
        what, actual = f"steps to {transfer.state}, in the journal", _STEPS.get(holds, f"room held {holds} times")
        yield LedgerFinding(where=transfer.key, what=what, expected=expected, actual=actual)
    if transfer.state is TransferState.EXPIRED and transfer.amount_micros and released_at_ms < transfer.expires_at_ms:
        expected = f"from {transfer.expires_at_ms} ms on"
        yield LedgerFinding(where=transfer.key, what="expired too early", expected=expected, actual=released_at_ms)
    latest_ms = transfer.created_at_ms + MAX_TIME_TO_SEND // timedelta(milliseconds=1)
    if not transfer.created_at_ms <= transfer.expires_at_ms <= latest_ms:
        expected = f"{transfer.created_at_ms} to {latest_ms} ms"
        yield LedgerFinding(where=transfer.key, what="time to send", expected=expected, actual=transfer.expires_at_ms)
