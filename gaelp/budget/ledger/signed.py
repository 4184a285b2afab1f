"""What people signed for, as the books themselves remember it: once a limit took signatures, raising one always does.

It is written in the transaction of the change it tells of, so that neither other settings nor a lost database of
approvals can make the books forget that they are under signatures.
"""

from dataclasses import dataclass

from sqlalchemy import Connection, inspect, text

from gaelp.budget.ledger.connection import Ledger
from gaelp.budget.ledger.refusals import LedgerBroken
from gaelp.budget.ledger.schema import SIGNED_TABLE
from gaelp.errors import Refused

__all__ = ["SignedChange", "check_signed", "check_unsigned", "is_done", "known_changes", "remember", "signed_changes"]


@dataclass(frozen=True, slots=True)
class SignedChange:
    """A change that people signed for: the hash of the action, the policy, and what the audit log says of it."""

    action_hash: str
    policy: str
    kind: str  # of the row in the audit log
    body: str  # of that row, as JSON


_INSERT = text(
    "INSERT INTO ledger_signed (action_hash, policy, kind, body, at_ms)"
    " VALUES (:action_hash, :policy, :kind, :body, :at_ms)"
)
_ALL = text("SELECT action_hash, policy, kind, body FROM ledger_signed ORDER BY at_ms, action_hash")


def signed_changes(ledger: Ledger) -> tuple[SignedChange, ...]:
    """Every change that was made under signatures, the oldest first."""
    with ledger.snapshot() as connection:
        return known_changes(connection)


def check_unsigned(ledger: Ledger, what: str) -> None:
    """Refuse what lets more be spent without signatures, where the books have once asked for them."""
    with ledger.snapshot() as connection:
        check_signed(connection, what)


def is_done(connection: Connection, signed: SignedChange) -> bool:
    """Whether this very change was made already."""
    return any(known.action_hash == signed.action_hash for known in known_changes(connection))


def remember(connection: Connection, signed: SignedChange, at_ms: int) -> None:
    """Keep that a change was signed for, in the transaction that makes it."""
    _check_table(connection)
    values = {"action_hash": signed.action_hash, "policy": signed.policy, "kind": signed.kind, "body": signed.body}
    connection.execute(_INSERT, {**values, "at_ms": at_ms})


def check_signed(connection: Connection, what: str) -> None:
    """As `check_unsigned`, inside the transaction that would change it."""
    if known := known_changes(connection):
        raise Refused(
            f"{what} is not done without signatures: people have signed for the limits of these books (last under the"
            f" policy {known[-1].policy!r}), and from then on more takes signatures. Use the settings with that policy,"
            f" such as `--config production` or `--set approvals.policy={known[-1].policy}`, and have it signed"
        )


def known_changes(connection: Connection) -> tuple[SignedChange, ...]:
    """As `signed_changes`, inside a transaction."""
    _check_table(connection)
    return tuple(SignedChange(*row) for row in connection.execute(_ALL))


def _check_table(connection: Connection) -> None:
    """It is made with the books; one made anew would forget that people have signed."""
    if not inspect(connection).has_table(SIGNED_TABLE.name):
        raise LedgerBroken(
            f"the table {SIGNED_TABLE.name} is gone from the books, so nobody can tell which limits people signed for:"
            " nothing is raised or reopened; lowering goes on. Keep the database as evidence, and go back to a copy"
            " that verifies (`gaelp ledger verify`)"
        )
