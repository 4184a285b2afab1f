"""Check that the signed changes in the ledger look as the ledger writes them."""

import json
import re
from collections.abc import Iterator

from sqlalchemy import Connection

from gaelp.budget.ledger.findings import LedgerFinding, differences
from gaelp.budget.ledger.refusals import LedgerBroken
from gaelp.budget.ledger.signed import SignedChange, known_changes

__all__ = ["check_signed_changes"]

_KINDS = ("limit.set", "cap.reopened", "mandate.granted")
_HASH = re.compile(r"[0-9a-f]{64}")


def check_signed_changes(connection: Connection) -> Iterator[LedgerFinding]:
    """Report a missing table, and rows that the audit log could not record."""
    try:
        changes = known_changes(connection)
    except LedgerBroken:
        yield LedgerFinding(where="ledger_signed", what="table", expected="there", actual="gone")
        return
    for change in changes:
        where = f"ledger_signed {change.action_hash[:12]}"
        if not _HASH.fullmatch(change.action_hash):
            yield LedgerFinding(
                where=where, what="action", expected="64 hexadecimal digits", actual=change.action_hash[:80]
            )
        if change.kind not in _KINDS:
            yield LedgerFinding(where=where, what="kind", expected=" or ".join(_KINDS), actual=change.kind[:80])
        yield from differences(where, ("action, from its record", change.action_hash, _recorded_action(change)))


def _recorded_action(change: SignedChange) -> str:
    try:
        body = json.loads(change.body)
    except (ValueError, RecursionError):
        return "no JSON"
    return str(body.get("action_hash"))[:80] if isinstance(body, dict) else "no object"
