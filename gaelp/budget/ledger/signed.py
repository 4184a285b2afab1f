"""Signed changes, recorded in the ledger: after the first one, raising a limit always takes signatures.

A change and its record are written in one transaction. So neither other settings nor a lost approvals database can make
the ledger accept unsigned changes again.
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
    """A signed change: the hash of the action, the policy, and the row it gets in the audit log."""

    action_hash: str
    policy: str
    kind: str  # of the row in the audit log
    body: str  # of that row, as JSON


_INSERT = text(
    "INSERT INTO ledger_signed (action_hash, policy, kind, body, at_ms)"
    " VALUES (:action_hash, :policy, :kind, :body, :at_ms)"
)
_CHANGES = {"limit.set": "a limit", "cap.reopened": "a reopened cap", "mandate.granted": "a mandate"}
_ALL = text("SELECT action_hash, policy, kind, body FROM ledger_signed ORDER BY at_ms, action_hash")


def signed_changes(ledger: Ledger) -> tuple[SignedChange, ...]:
    """Every signed change, oldest first."""
    with ledger.snapshot() as connection:
        return known_changes(connection)


def check_unsigned(ledger: Ledger, what: str) -> None:
    """Refuse an unsigned change that lets more be spent if this ledger has ever had a signed one."""
    with ledger.snapshot() as connection:
        check_signed(connection, what)


def is_done(connection: Connection, signed: SignedChange) -> bool:
    """Whether this change was made already."""
    return any(known.action_hash == signed.action_hash for known in known_changes(connection))


def remember(connection: Connection, signed: SignedChange, at_ms: int) -> None:
    """Record a signed change in the transaction that makes it."""
    _check_table(connection)
    values = {"action_hash": signed.action_hash, "policy": signed.policy, "kind": signed.kind, "body": signed.body}
    connection.execute(_INSERT, {**values, "at_ms": at_ms})


def check_signed(connection: Connection, what: str) -> None:
    """`check_unsigned` inside the transaction of the change."""
    if known := known_changes(connection):
        raise Refused(
            f"{what} needs signatures: people have signed for changes of this ledger (last {_named(known[-1])} under"
            f" the policy {known[-1].policy!r}), and after the first such change it accepts no unsigned raise. Repeat"
            " the command with the settings that name the policy, such as `--config production` or"
            f" `--set approvals.policy={known[-1].policy}`, and have it signed"
        )


def _named(change: SignedChange) -> str:
    return _CHANGES.get(change.kind, change.kind)


def known_changes(connection: Connection) -> tuple[SignedChange, ...]:
    """`signed_changes` inside a transaction."""
    _check_table(connection)
    return tuple(SignedChange(*row) for row in connection.execute(_ALL))


def _check_table(connection: Connection) -> None:
    """Refuse if the table is missing: an empty new one would hide that changes were signed."""
    if not inspect(connection).has_table(SIGNED_TABLE.name):
        raise LedgerBroken(
            f"the table {SIGNED_TABLE.name} is missing from the ledger, so it is unknown which limits were signed:"
            " nothing is raised or reopened; lowering still works. Keep the database as evidence, and restore a copy"
            " that verifies (`gaelp ledger verify`)"
        )
