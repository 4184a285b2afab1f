"""What the audit log is told of limits, after they were changed: what happened, who signed for it, who was at the keys.

The books keep every signed change themselves. So a row that is missing because of a crash can be added later, and
approvals that do not know of what the books remember are known to be lost or exchanged.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaelp.cli.signing import machine_user
from gaelp.clock import SystemClock
from gaelp.config.places import shown
from gaelp.config.settings import Settings
from gaelp.errors import GaelpError, Refused

if TYPE_CHECKING:
    from gaelp.approvals import Authorisation
    from gaelp.budget.ledger import Ledger

__all__ = ["check_log", "done_then_recorded", "record", "signed_body", "unsigned_body"]


def unsigned_body(settings: Settings, told: dict[str, str]) -> dict[str, Any]:
    """What the log says of a change that nobody signed for: who made it, as the machine knows them."""
    return {**told, "signed": False, "by": machine_user(), "policy": str(settings.approvals.policy)}


def signed_body(told: dict[str, str], policy: str, granted: "Authorisation") -> dict[str, Any]:
    """What the log says of a change that people signed for: who they are, which action, under which policy."""
    terms = granted.terms
    return {
        **told,
        "signed": True,
        "by": machine_user(),
        "approvers": list(granted.approvers),
        "action_hash": granted.action_hash,
        "policy": policy,
        "policy_hash": granted.policy_hash,
        "quorum": terms.quorum if terms else None,
        "trust_hash": terms.trust_hash if terms else None,
    }


def check_log(settings: Settings, ledger: "Ledger") -> None:
    """Refuse to go on with approvals that do not know of every signed change in the books."""
    from gaelp.approvals import ApprovalStore, approvals_place  # noqa: PLC0415 - cryptography takes its time
    from gaelp.budget.ledger import signed_changes  # noqa: PLC0415 - sqlalchemy takes its time

    signed = {change.action_hash for change in signed_changes(ledger)}
    place = approvals_place(settings)
    if not signed:
        return
    if isinstance(place, Path) and not place.exists():
        raise Refused(_lost(len(signed), len(signed), f"{shown(place)} is not there"))
    unknown = signed - ApprovalStore(place, SystemClock()).used_actions()
    if unknown:
        where = shown(place) if isinstance(place, Path) else "the PostgreSQL database"
        raise Refused(_lost(len(signed), len(unknown), f"{where} is empty or another one"))


def record(settings: Settings, ledger: "Ledger", kind: str = "", body: dict[str, Any] | None = None) -> None:
    """Add to the log what it lacks of the signed changes in the books, then this row."""
    from gaelp.approvals import AuditLog, approvals_place, open_database  # noqa: PLC0415 - cryptography takes its time
    from gaelp.budget.ledger import signed_changes  # noqa: PLC0415 - sqlalchemy takes its time

    check_log(settings, ledger)
    log, at = AuditLog(open_database(approvals_place(settings))), SystemClock().now()
    for change in signed_changes(ledger):
        log.append_once(change.kind, json.loads(change.body), at, action_hash=change.action_hash)
    if body is not None:
        log.append(kind, body, at)


def done_then_recorded(words: str, write: Callable[[], None]) -> None:
    """Record what was done; if that fails, it is said that it was done all the same."""
    try:
        write()
    except (GaelpError, OSError) as problem:
        raise GaelpError(
            f"DONE, BUT NOT RECORDED: {words}. The audit log could not be written: {problem}. Mend it, then repeat the"
            " command: that changes nothing more and records it"
        ) from problem


def _lost(signed: int, unknown: int, seen: str) -> str:
    return (
        f"the books remember {signed} changes that people signed for, and the database of approvals does not know"
        f" {unknown} of them: {seen}. It is not begun anew, for then what was signed could not be shown: put back the"
        " true one, from a copy if need be. Lowering a limit works without it"
    )
