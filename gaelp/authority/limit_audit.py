"""Compare the limits in the ledger with the audit log: what was changed in one of them is missing in the other.

The ledger holds the limits in force and every change that people signed for; the log holds a row for each change. This
finds whoever writes to one of the two by hand, or raises a limit without signatures after people have signed.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gaelp.approvals import AuditRow
from gaelp.approvals.agreement import REQUESTED, USED
from gaelp.budget.ledger import SignedChange
from gaelp.errors import MoneyError
from gaelp.money import Money

__all__ = [
    "LIMIT_SET",
    "MANDATE_GRANTED",
    "REOPENED",
    "compare_limits",
    "newest_limits",
    "promised_rows",
    "signed_rows",
]

LIMIT_SET, REOPENED, MANDATE_GRANTED = "limit.set", "cap.reopened", "mandate.granted"


def compare_limits(
    rows: Iterable[AuditRow], limits: Mapping[str, Money], signed: Iterable[SignedChange], ledger_id: str
) -> Iterator[str]:
    """Describe each contradiction between the log's rows and the ledger.

    `limits` are those in force by their cap (`kind:subject`), `signed` the changes that the ledger records, `ledger_id`
    the id that the ledger got when it was created.
    """
    logged = _limit_rows(rows)
    yield from _compare_ids(logged, ledger_id)
    yield from _compare_signed(logged, {change.action_hash: change for change in signed})
    yield from _unsigned_after_signed(logged)
    yield from _compare_in_force(logged, limits)


def newest_limits(rows: Iterable[AuditRow]) -> dict[str, Money | None]:
    """The limit of each cap in the newest row about it."""
    return {str(body.get("cap")): _limit(body) for row, body in _limit_rows(rows) if row.kind == LIMIT_SET}


def signed_rows(rows: Iterable[AuditRow]) -> dict[int, str]:
    """The rows about changes that people signed for, with the hash of the action."""
    return {row.seq: str(body.get("action_hash")) for row, body in _limit_rows(rows) if body.get("signed") is True}


def promised_rows(rows: Iterable[AuditRow]) -> list[int]:
    """The rows about real money that the ledger must know: signed limits, and approvals used for a budget."""
    kept = list(rows)
    live = set()
    for row in kept:
        if row.kind == REQUESTED:
            body = _as_body(row.body)
            request = body.get("request")
            action = request.get("action") if isinstance(request, dict) else None
            if (
                isinstance(action, dict)
                and action.get("kind") in ("budget", "mandate")
                and action.get("world") == "live"
            ):
                live.add(str(body.get("action_hash")))
    used = [row.seq for row in kept if row.kind == USED and str(_as_body(row.body).get("action_hash")) in live]
    return sorted({*signed_rows(kept), *used})


def _compare_ids(logged: list[tuple[AuditRow, dict[str, Any]]], ledger_id: str) -> Iterator[str]:
    for row, body in logged:
        if (named := body.get("books", ledger_id)) != ledger_id:
            yield (
                f"row {row.seq}: {row.kind} of {body.get('cap')} was made in the ledger {named}, this one"
                f" is {ledger_id or 'without an id'}: another ledger was put in its place"
            )


def _compare_signed(logged: list[tuple[AuditRow, dict[str, Any]]], known: dict[str, SignedChange]) -> Iterator[str]:
    for row, body in logged:
        if body.get("signed") is not True:
            continue
        change = known.pop(str(body.get("action_hash")), None)
        if change is None:
            yield (
                f"row {row.seq}: {row.kind} of {body.get('cap')} was signed for, and the ledger has no record of"
                " it: ledger_signed was changed, or this is another ledger"
            )
        elif (change.kind, _as_body(change.body)) != (row.kind, body):
            yield f"row {row.seq}: {row.kind} of {body.get('cap')} is another one in the ledger (ledger_signed)"
    for change in known.values():
        yield (
            f"the ledger records a signed {change.kind} (action {change.action_hash[:12]}) that the log does not"
            " have: if a command broke off, repeat it, which records it; else one of the two was replaced"
        )


def _unsigned_after_signed(logged: list[tuple[AuditRow, dict[str, Any]]]) -> Iterator[str]:
    """What let more be spent without signatures, after people had signed."""
    limits: dict[str, Money | None] = {}
    first: int | None = None
    for row, body in logged:
        cap, limit = str(body.get("cap")), _limit(body)
        if body.get("signed") is True:
            first = row.seq if first is None else first
        elif first is not None and (row.kind == REOPENED or _is_raised(limits.get(cap), limit)):
            yield (
                f"row {row.seq}: {row.kind} of {cap} to {body.get('limit')} by {body.get('by')} has no signatures,"
                f" though people have signed for limits since row {first}"
            )
        if row.kind == LIMIT_SET:
            limits[cap] = limit


def _compare_in_force(logged: list[tuple[AuditRow, dict[str, Any]]], limits: Mapping[str, Money]) -> Iterator[str]:
    newest = {str(body.get("cap")): (row.seq, _limit(body)) for row, body in logged if row.kind == LIMIT_SET}
    for cap in sorted({*limits, *newest}):
        seq, expected = newest.get(cap, (None, None))
        if limits.get(cap) != expected or seq is None:
            says = f"row {seq} says {expected}" if seq is not None else "no row of the log is about it"
            yield (
                f"limit {cap}: {limits.get(cap) or 'none'} is in force, {says}: it was changed behind the ledger's"
                " back, or a command broke off before it was recorded (then repeat it)"
            )


def _limit_rows(rows: Iterable[AuditRow]) -> list[tuple[AuditRow, dict[str, Any]]]:
    wanted = [row for row in rows if row.kind in (LIMIT_SET, REOPENED, MANDATE_GRANTED)]
    return [(row, _as_body(row.body)) for row in wanted]


def _as_body(text: str) -> dict[str, Any]:
    """The object in a JSON text; an empty one where it holds anything else, which fits nothing."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def _limit(body: dict[str, Any]) -> Money | None:
    try:
        return Money.parse(str(body.get("limit")))
    except MoneyError:
        return None


def _is_raised(before: Money | None, limit: Money | None) -> bool:
    """Whether more may be spent than before; what cannot be compared counts as more."""
    if before is None or limit is None or before.currency != limit.currency:
        return True
    return before < limit
