"""What the ledger raises: each class is one answer a caller may want to act on."""

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
    """The kill switch is set, or its state cannot be read; no money may be granted."""


class MandateClosed(Refused):
    """The mandate was never opened in these books, or has ended; nothing was reserved."""


class WrongState(Refused):
    """The transfer is not in a state from which this step can be made; nothing was changed."""


class KeyReused(BadInput):
    """An idempotency key was used before with another body; nothing was changed."""


class UnknownTransfer(BadInput):
    """No transfer has this key."""


class LedgerUnavailable(DatabaseUnavailable):
    """The database cannot be reached or did not answer: nothing was granted, and what happened to a write is unknown.

    Trying again with the same key is always safe.
    """


class LedgerDamaged(LedgerUnavailable, DatabaseDamaged):
    """The ledger's file is not whole, or has lost commits."""


class LedgerBroken(DatabaseBroken):
    """The books contradict themselves, or a constraint stopped a write that the code should have refused."""
