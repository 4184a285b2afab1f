"""What the audit log is told of limits, after they were changed: what happened, who signed for it, who was at the keys.

The books keep every signed change themselves. So a row that is missing because of a crash can be added later, and
approvals that do not know of what the books remember are known to be lost or exchanged.
"""

import json
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaelp.cli.ledger_audit import LIMIT_SET, newest_limits, promised_rows, signed_rows
from gaelp.cli.signing import machine_user
from gaelp.clock import SystemClock
from gaelp.config.places import shown
from gaelp.config.settings import Settings
from gaelp.errors import GaelpError, Refused
from gaelp.money import Money

if TYPE_CHECKING:
    from gaelp.approvals import AuditLog, AuditRow, Authorisation
    from gaelp.budget.ledger import Finding, Ledger, SignedChange

__all__ = [
    "check_books",
    "check_books_to_begin",
    "check_kept",
    "check_log",
    "check_log_unsigned",
    "done_then_recorded",
    "order_findings",
    "record",
    "record_unsigned_limit",
    "signed_body",
    "unsigned_body",
]


_MOST_ROWS = 10  # that a message names


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
    from gaelp.approvals import ApprovalStore, approvals_place, is_begun  # noqa: PLC0415 - cryptography takes its time
    from gaelp.budget.ledger import signed_changes  # noqa: PLC0415 - sqlalchemy takes its time

    signed = {change.action_hash for change in signed_changes(ledger)}
    place = approvals_place(settings)
    if not signed:
        return
    where = shown(place) if isinstance(place, Path) else "the PostgreSQL database"
    if not is_begun(place):
        raise Refused(_lost(len(signed), len(signed), f"{where} is not there, or has none of its tables"))
    unknown = signed - ApprovalStore(place, SystemClock(), create=False).used_actions()
    if unknown:
        raise Refused(_lost(len(signed), len(unknown), f"{where} is empty or another one"))


def check_kept(settings: Settings) -> None:
    """Refuse to use or to begin approvals that the books of these settings miss signed changes in.

    Books that are not there or do not answer cannot tell, and nothing is refused for that.
    """
    from gaelp.bootstrap import open_books  # noqa: PLC0415 - sqlalchemy takes its time

    try:
        ledger = open_books(settings)
    except GaelpError:
        return
    with closing(ledger):
        check_log(settings, ledger)


def check_books(settings: Settings, ledger: "Ledger") -> None:
    """Refuse to let more be spent on books that lack a signed change of the audit log: others, or an older copy."""
    from gaelp.budget.ledger import signed_changes  # noqa: PLC0415 - sqlalchemy takes its time

    told, known = signed_rows(_rows_of(settings)), {change.action_hash for change in signed_changes(ledger)}
    if unknown := [seq for seq, wanted in told.items() if wanted not in known]:
        raise Refused(
            f"the audit log tells of {len(told)} changes that people signed for, and these books do not remember"
            f" {len(unknown)} of them (rows {_listed(unknown)}): they were begun anew, changed, or are an older copy,"
            " so what was spent is not in them either, and nothing is raised or reopened. Put back the newest copy of"
            " the ledger. Lowering a limit goes on"
        )


def check_books_to_begin(settings: Settings) -> None:
    """Refuse to begin books where there are none, while the audit log tells of what people signed for in others."""
    from gaelp.budget.ledger import has_books, ledger_place  # noqa: PLC0415 - sqlalchemy takes its time

    place = ledger_place(settings)
    if has_books(place):
        return
    if told := promised_rows(_rows_of(settings)):
        where = shown(place) if isinstance(place, Path) else "the PostgreSQL database"
        raise Refused(
            f"there are no books in {where}, and the audit log tells of {len(told)} uses of signatures for them (rows"
            f" {_listed(told)}): the books are lost, with all that was spent. They are not begun anew beside this log."
            " Put back the newest copy of the ledger. To begin anew on purpose, leave this home as it is, as evidence;"
            " name a new one (GAELP_HOME, and another database where they are in PostgreSQL), let the approvers be"
            " trusted there (`gaelp keys trust`), and have every limit signed again"
        )


def order_findings(settings: Settings, ledger: "Ledger") -> "tuple[Finding, ...]":
    """What the order book, the ledger and the audit log of these settings contradict each other in."""
    from gaelp.budget.ledger import Finding  # noqa: PLC0415 - sqlalchemy takes its time
    from gaelp.platforms.verify_orders import verify_orders  # noqa: PLC0415 - as above

    try:
        return verify_orders(ledger, lambda: _rows_of(settings))
    except (GaelpError, ValueError, KeyError, TypeError) as problem:
        # A log that cannot be read proves no order; `gaelp audit verify` says what is wrong with it.
        return (Finding(where="orders", what="audit log", expected="one that can be read", found=str(problem)[:300]),)


def _rows_of(settings: Settings) -> "tuple[AuditRow, ...]":
    """The audit log as it is; none where it was not begun."""
    from gaelp.approvals import AuditLog, approvals_place, is_begun, open_database  # noqa: PLC0415 - as above

    place = approvals_place(settings)
    return AuditLog(open_database(place, create=False)).rows() if is_begun(place) else ()


def _listed(rows: list[int]) -> str:
    return ", ".join(map(str, rows[:_MOST_ROWS])) + (" and more" if len(rows) > _MOST_ROWS else "")


def check_log_unsigned(settings: Settings, what: str) -> None:
    """Refuse what lets more be spent without signatures, where the audit log tells of signed changes."""
    if rows := signed_rows(_rows_of(settings)):
        raise Refused(
            f"{what} is not done without signatures: row {max(rows)} of the audit log tells that people have signed for"
            " limits, and from then on more takes signatures. If the books do not remember it, they were changed or are"
            " other ones: run `gaelp audit verify`. Else have it signed, such as with `--config production`"
        )


def record(settings: Settings, ledger: "Ledger", kind: str = "", body: dict[str, Any] | None = None) -> None:
    """Add to the log what it lacks of the signed changes in the books, then this row."""
    log, at = _log_of(settings, ledger), SystemClock().now()
    if body is not None:
        log.append(kind, body, at)


def record_unsigned_limit(
    settings: Settings, ledger: "Ledger", body: dict[str, Any], step: tuple[Money | None, Money]
) -> None:
    """Tell the log of a limit that was set without signatures, and of the step before if it does not know of that.

    A row that could not be written once is so made up for, and what was changed by hand is not passed over. Nothing is
    added where the log knows the limit in force: it was set to what it was, or another has told of it already.
    """
    from gaelp.budget.ledger.limits import limits_in_force  # noqa: PLC0415 - sqlalchemy takes its time

    def missing(rows: "tuple[AuditRow, ...]") -> list[dict[str, Any]]:
        known = newest_limits(rows).get(body["cap"])
        if known == limits_in_force(ledger).get(body["cap"]):
            return []
        steps = [(before, limit) for before, limit in pairwise((known, *step)) if before != limit]
        return [{**body, "before": str(before or "none"), "limit": str(limit)} for before, limit in steps]

    _log_of(settings, ledger).append_following(LIMIT_SET, missing, SystemClock().now())


def _log_of(settings: Settings, ledger: "Ledger") -> "AuditLog":
    """The log, with every signed change of the books in it."""
    from gaelp.approvals import AuditLog, approvals_place, open_database  # noqa: PLC0415 - cryptography takes its time
    from gaelp.budget.ledger import signed_changes  # noqa: PLC0415 - sqlalchemy takes its time

    check_log(settings, ledger)
    log, at = AuditLog(open_database(approvals_place(settings))), SystemClock().now()
    for change in signed_changes(ledger):
        log.append_once(change.kind, _signed_body_of(change), at, action_hash=change.action_hash)
    return log


def _signed_body_of(change: "SignedChange") -> dict[str, Any]:
    try:
        body: dict[str, Any] = json.loads(change.body)
    except ValueError as problem:
        raise Refused(
            f"ledger_signed holds something that cannot be read for action {change.action_hash[:12]}: the books were"
            " changed; run `gaelp ledger verify`"
        ) from problem
    return body


def done_then_recorded(words: str, write: Callable[[], None]) -> None:
    """Record what was done; if that fails, it is said that it was done all the same."""
    try:
        write()
    except (GaelpError, OSError) as problem:
        raise GaelpError(
            f"DONE, BUT NOT RECORDED: {words}. That the audit log could not be written was told as: {problem} Mend it,"
            " then repeat the command: that changes nothing more and records the step from what the log knew"
        ) from problem


def _lost(signed: int, unknown: int, seen: str) -> str:
    return (
        f"the books remember {signed} changes that people signed for, and the database of approvals does not know"
        f" {unknown} of them: {seen}. It is not begun anew, for then what was signed could not be shown: put back the"
        " true one, from a copy if need be. Lowering a limit works without it"
    )
