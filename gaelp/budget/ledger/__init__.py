"""The money ledger: double entry, whole micros, reserve then post or void, under any number of caps at once."""

from gaelp.budget.ledger.accounts import AdAccount, known_account, open_account
from gaelp.budget.ledger.caps import Bucket, Cap, CapKind
from gaelp.budget.ledger.connection import LEDGER_NAME, Ledger, create_ledger, has_books, ledger_place, open_ledger
from gaelp.budget.ledger.fence import is_fenced, lower_fence, raise_fence, read_fence, signed_before_release
from gaelp.budget.ledger.identity import books_id, known_books_id
from gaelp.budget.ledger.input_checks import UNRESERVED
from gaelp.budget.ledger.limits import (
    ExpectedLimit,
    LimitSet,
    check_limit,
    check_reopen,
    known_limit,
    reopen_cap,
    set_limit,
)
from gaelp.budget.ledger.mandates import MandateRoom, MandateUse, close_mandate, mandate_caps, mandate_use, open_mandate
from gaelp.budget.ledger.overview import CapStatus, Overview, StateTotal, overview
from gaelp.budget.ledger.refusals import (
    CapReached,
    KeyReused,
    LedgerBroken,
    LedgerDamaged,
    LedgerUnavailable,
    MandateClosed,
    SpendingStopped,
    UnknownTransfer,
    WrongState,
)
from gaelp.budget.ledger.reservations import Reservation, mark_in_flight, reserve
from gaelp.budget.ledger.settlement import adjust, adjustments_of, expire, post, void
from gaelp.budget.ledger.signed import SignedChange, check_unsigned, signed_changes
from gaelp.budget.ledger.transfers import (
    Receipt,
    Transfer,
    TransferState,
    find_transfer,
    transfers_in,
    transfers_of_days,
)
from gaelp.budget.ledger.unreserved import open_unreserved
from gaelp.budget.ledger.verify import LedgerFinding, Verification, verify

__all__ = [
    "LEDGER_NAME",
    "UNRESERVED",
    "AdAccount",
    "Bucket",
    "Cap",
    "CapKind",
    "CapReached",
    "CapStatus",
    "ExpectedLimit",
    "KeyReused",
    "Ledger",
    "LedgerBroken",
    "LedgerDamaged",
    "LedgerFinding",
    "LedgerUnavailable",
    "LimitSet",
    "MandateClosed",
    "MandateRoom",
    "MandateUse",
    "Overview",
    "Receipt",
    "Reservation",
    "SignedChange",
    "SpendingStopped",
    "StateTotal",
    "Transfer",
    "TransferState",
    "UnknownTransfer",
    "Verification",
    "WrongState",
    "adjust",
    "adjustments_of",
    "books_id",
    "check_limit",
    "check_reopen",
    "check_unsigned",
    "close_mandate",
    "create_ledger",
    "expire",
    "find_transfer",
    "has_books",
    "is_fenced",
    "known_account",
    "known_books_id",
    "known_limit",
    "ledger_place",
    "lower_fence",
    "mandate_caps",
    "mandate_use",
    "mark_in_flight",
    "open_account",
    "open_ledger",
    "open_mandate",
    "open_unreserved",
    "overview",
    "post",
    "raise_fence",
    "read_fence",
    "reopen_cap",
    "reserve",
    "set_limit",
    "signed_before_release",
    "signed_changes",
    "transfers_in",
    "transfers_of_days",
    "verify",
    "void",
]
