"""What the audit log records of limits after they were changed, and what is checked before one is changed.

The ledger keeps every signed change itself. So a row of the log that a crash prevented can be added later, and
approvals that do not know what the ledger records are recognised as lost or replaced.
"""

import json
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

from gaelp.approvals import (
    ApprovalStore,
    AuditLog,
    AuditRow,
    Authorisation,
    approvals_place,
    is_begun,
    open_database,
)
from gaelp.authority.limit_audit import LIMIT_SET, newest_limits, promised_rows, signed_rows
from gaelp.budget.latch import LATCH_NAME, Latch
from gaelp.budget.ledger import Ledger, SignedChange, has_books, ledger_place, open_ledger, signed_changes
from gaelp.budget.ledger.limits import limits_in_force
from gaelp.clock import Clock, SystemClock
from gaelp.config.machine_user import machine_user
from gaelp.config.places import absolute, shown
from gaelp.config.settings import Settings
from gaelp.database import Place
from gaelp.errors import GaelpError, Refused
from gaelp.money import Money

__all__ = [
    "audit_rows",
    "check_approvals_kept",
    "check_approvals_know",
    "check_books_know",
    "check_can_create_books",
    "check_unsigned_allowed",
    "open_approvals",
    "record",
    "record_unsigned_limit",
    "report_unrecorded",
    "signed_body",
    "unsigned_body",
]

_MOST_ROWS = 10  # that a message names


def open_approvals(settings: Settings, clock: Clock | None = None) -> ApprovalStore:
    """The approvals of these settings, created where there are none; refused if the ledger records others."""
    check_approvals_kept(settings)
    return ApprovalStore(approvals_place(settings), clock or SystemClock())


def unsigned_body(settings: Settings, facts: dict[str, str]) -> dict[str, Any]:
    """The log's row on a change that nobody signed: the facts, and who made it as the machine knows them."""
    return {**facts, "signed": False, "by": machine_user(), "policy": str(settings.approvals.policy)}


def signed_body(facts: dict[str, str], policy: str, granted: Authorisation) -> dict[str, Any]:
    """The log's row on a signed change: the facts, who signed, which action, under which policy."""
    terms = granted.terms
    return {
        **facts,
        "signed": True,
        "by": machine_user(),
        "approvers": list(granted.approvers),
        "action_hash": granted.action_hash,
        "policy": policy,
        "policy_hash": granted.policy_hash,
        "quorum": terms.quorum if terms else None,
        "trust_hash": terms.trust_hash if terms else None,
    }


def check_approvals_know(settings: Settings, ledger: Ledger) -> None:
    """Refuse approvals that do not know every signed change in the ledger: they were lost or replaced."""
    signed = {change.action_hash for change in signed_changes(ledger)}
    place = approvals_place(settings)
    if not signed:
        return
    if not is_begun(place):
        raise Refused(_lost(len(signed), len(signed), f"{_named(place)} is not there, or has none of its tables"))
    unknown = signed - ApprovalStore(place, SystemClock(), create=False).used_actions()
    if unknown:
        raise Refused(_lost(len(signed), len(unknown), f"{_named(place)} is empty or another one"))


def check_approvals_kept(settings: Settings) -> None:
    """As `check_approvals_know`, with the ledger of these settings.

    A ledger that is not there or does not answer proves nothing, and nothing is refused for that.
    """
    try:
        ledger = open_ledger(ledger_place(settings), Latch(absolute(settings.home) / LATCH_NAME))
    except GaelpError:
        return
    with closing(ledger):
        check_approvals_know(settings, ledger)


def check_books_know(settings: Settings, ledger: Ledger) -> None:
    """Refuse to let more be spent on a ledger that lacks a signed change of the audit log: another or an older one."""
    logged, known = signed_rows(audit_rows(settings)), {change.action_hash for change in signed_changes(ledger)}
    if unknown := [seq for seq, wanted in logged.items() if wanted not in known]:
        raise Refused(
            f"the audit log has {len(logged)} changes that people signed for, and this ledger has no record of"
            f" {len(unknown)} of them (rows {_listed(unknown)}): it was created again, changed, or is an older copy, so"
            " what was spent may be missing too, and nothing is raised or reopened. Restore the newest backup of the"
            " ledger. Limits can still be lowered"
        )


def check_can_create_books(settings: Settings) -> None:
    """Refuse to create a ledger while the audit log has signatures that were used for one that is gone."""
    place = ledger_place(settings)
    if has_books(place):
        return
    if promised := promised_rows(audit_rows(settings)):
        raise Refused(
            f"there is no ledger in {_named(place)}, and the audit log has {len(promised)} uses of signatures for one"
            f" (rows {_listed(promised)}): it is lost, with its record of what was spent, and no new one is created"
            " beside this log. Restore the newest backup of the ledger. To start again on purpose, leave this home as"
            " it is, as evidence; name a new one (GAELP_HOME, and another database if the ledger is in PostgreSQL), let"
            " the approvers be trusted there (`gaelp keys trust`), and have every limit signed again"
        )


def check_unsigned_allowed(settings: Settings, what: str) -> None:
    """Refuse what lets more be spent without signatures, where the audit log has signed changes."""
    if rows := signed_rows(audit_rows(settings)):
        raise Refused(
            f"{what} needs signatures: row {max(rows)} of the audit log says that people have signed for changes, and"
            " after the first such change no unsigned raise is accepted. Repeat the command with the settings that name"
            " the policy, such as `--config production`, and have it signed. The ledger itself has no record of that"
            " change, so it may be an older copy or another ledger: run `gaelp audit verify` first"
        )


def audit_rows(settings: Settings) -> tuple[AuditRow, ...]:
    """Every row of the audit log; none where there is no log."""
    place = approvals_place(settings)
    return AuditLog(open_database(place, create=False)).rows() if is_begun(place) else ()


def record(settings: Settings, ledger: Ledger, kind: str = "", body: dict[str, Any] | None = None) -> None:
    """Add to the log the signed changes of the ledger that it lacks, then this row."""
    log, at = _complete_log(settings, ledger), SystemClock().now()
    if body is not None:
        log.append(kind, body, at)


def record_unsigned_limit(
    settings: Settings, ledger: Ledger, body: dict[str, Any], step: tuple[Money | None, Money]
) -> None:
    """Record a limit that was set without signatures, and the step before if the log does not have it.

    So a row that could not be written once is added later, and a change by hand is not passed over. Nothing is added
    where the log has the limit in force: it was set to what it was, or somebody else has recorded it.
    """

    def missing(rows: tuple[AuditRow, ...]) -> list[dict[str, Any]]:
        known = newest_limits(rows).get(body["cap"])
        if known == limits_in_force(ledger).get(body["cap"]):
            return []
        steps = [(before, limit) for before, limit in pairwise((known, *step)) if before != limit]
        return [{**body, "before": str(before or "none"), "limit": str(limit)} for before, limit in steps]

    _complete_log(settings, ledger).append_following(LIMIT_SET, missing, SystemClock().now())


def report_unrecorded(change: str, write: Callable[[], None]) -> None:
    """Record a change that was made; where that fails, the error says that it was made all the same."""
    try:
        write()
    except (GaelpError, OSError) as problem:
        raise GaelpError(
            f"DONE, BUT NOT RECORDED: {change}. The audit log could not be written: {problem} Fix that, then repeat the"
            " command: it changes nothing more and records the step from what the log has"
        ) from problem


def _complete_log(settings: Settings, ledger: Ledger) -> AuditLog:
    """The log, with every signed change of the ledger in it."""
    check_approvals_know(settings, ledger)
    log, at = AuditLog(open_database(approvals_place(settings))), SystemClock().now()
    for change in signed_changes(ledger):
        log.append_once(change.kind, _parse_body(change), at, action_hash=change.action_hash)
    return log


def _parse_body(change: SignedChange) -> dict[str, Any]:
    try:
        body: dict[str, Any] = json.loads(change.body)
    except ValueError as problem:
        raise Refused(
            f"ledger_signed holds something that cannot be read for action {change.action_hash[:12]}: the ledger was"
            " changed; run `gaelp ledger verify`"
        ) from problem
    return body


def _named(place: Place) -> str:
    return shown(place) if isinstance(place, Path) else "the PostgreSQL database"


def _listed(rows: list[int]) -> str:
    return ", ".join(map(str, rows[:_MOST_ROWS])) + (" and more" if len(rows) > _MOST_ROWS else "")


def _lost(signed: int, unknown: int, state: str) -> str:
    return (
        f"the ledger records {signed} changes that people signed for, and the database of approvals does not know"
        f" {unknown} of them: {state}. No new one is created, because it could not show what was signed: restore the"
        " true one, from a backup if need be. Limits can be lowered without it"
    )
