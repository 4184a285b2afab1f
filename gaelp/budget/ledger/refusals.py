"""The exceptions of the ledger; callers handle each class differently."""

from gaelp.database import DatabaseBroken, DatabaseDamaged, DatabaseUnavailable
from gaelp.errors import BadInput, Refused

__all__ = [
    "CapReached",
    "KeyReused",
    "LedgerBroken",
    "LedgerDamaged",
    "LedgerUnavailable",
    "MandateClosed",
    "SpendingStopped",
    "UnknownTransfer",
    "WrongState",
]


class CapReached(Refused):
    """A cap has no room for the amount, is closed, or was never set; nothing was reserved."""


class SpendingStopped(Refused):
    """The kill switch is set, or its state cannot be read; no money is granted."""


class MandateClosed(Refused):
    """The mandate was never opened in this ledger, or has ended; nothing was reserved."""


class WrongState(Refused):
    """The transfer's state does not allow this step; nothing was changed."""


class KeyReused(BadInput):
    """An idempotency key was used before for a different request; nothing was changed."""


class UnknownTransfer(BadInput):
    """No transfer has this key."""


class LedgerUnavailable(DatabaseUnavailable):
    """The database cannot be reached or did not answer: nothing was granted, and the outcome of a write is unknown.

    Retrying with the same key is always safe.
    """


class LedgerDamaged(LedgerUnavailable, DatabaseDamaged):
    """The ledger's file is incomplete, or has lost commits."""


class LedgerBroken(DatabaseBroken):
    """The ledger contradicts itself, or a constraint refused a write that the code should have refused."""
