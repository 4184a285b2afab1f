"""Compare the tables with the audit log: what was taken out of one of them is still in the other."""

from functools import lru_cache

from pydantic import BaseModel

from gaelp.approvals.action import action_hash
from gaelp.approvals.approval import Approval
from gaelp.approvals.approval_status import is_authentic
from gaelp.approvals.audit import AuditRow, check_no_gap
from gaelp.approvals.authorise import Authorisation
from gaelp.approvals.canonical import canonical, parse
from gaelp.approvals.database import Session
from gaelp.approvals.policy import ApprovalRequest
from gaelp.approvals.tables import all_requests, approvals_of, request_of, use_of
from gaelp.approvals.trust import Trust
from gaelp.errors import Refused

__all__ = [
    "DECIDED",
    "REQUESTED",
    "USED",
    "check_agreement",
    "check_all",
    "check_decisions",
    "check_nonces",
    "decided_body",
    "requested_body",
    "used_body",
]

_KEPT_BODIES = 512
REQUESTED, DECIDED, USED = "approval.requested", "approval.decided", "approval.used"


def requested_body(wanted: str, request: ApprovalRequest) -> dict[str, object]:
    """What the log records of a request."""
    return {"action_hash": wanted, "request": _value(request)}


def decided_body(wanted: str, approval: Approval) -> dict[str, object]:
    """What the log records of a decision."""
    return {"action_hash": wanted, "approval": _value(approval)}


def used_body(wanted: str, consumer: str, granted: Authorisation) -> dict[str, object]:
    """What the log records of a use."""
    return {"action_hash": wanted, "consumer": consumer, "authorisation": _value(granted)}


def check_agreement(session: Session, wanted: str) -> None:
    """Refuse if the log has more, fewer or other requests, decisions and uses of this action than the tables."""
    try:
        _check_agreement(session, wanted)
    except Refused as refusal:
        raise Refused(f"{refusal}. Run `gaelp audit verify`, and ask for a new action.") from None


def _check_agreement(session: Session, wanted: str) -> None:
    check_no_gap(session)
    logged = [row.checked_body() for row in _logged_rows(session, wanted) if _action_hash_in(row) == wanted]
    if sorted(logged) != sorted(_stored(session, wanted)):
        raise Refused(
            f"the tables and the audit log do not agree on action {wanted[:12]}: decisions or uses were changed or"
            " taken out"
        )


def check_all(session: Session) -> None:
    """Refuse if tables and log differ on any action."""
    query = (
        "SELECT action_hash FROM requests UNION SELECT action_hash FROM approvals UNION SELECT action_hash FROM uses"
    )
    stored = {wanted for (wanted,) in session.execute(query).fetchall()}
    for wanted in sorted(stored | {_action_hash_in(row) for row in _logged_rows(session, "")}, key=repr):
        if not isinstance(wanted, str):
            raise Refused(f"a table names the action {wanted!r:.40}, which is no text: it was changed")
        _check_agreement(session, wanted)


def check_nonces(session: Session) -> None:
    """Refuse if a nonce is stored as used that no use in the log names, or the other way round."""
    stored = set(session.execute("SELECT nonce, action_hash FROM used_nonces").fetchall())
    logged = set()
    for row in _logged_rows(session, ""):
        if row.kind == USED:
            body = parse(row.checked_body())
            logged |= {(nonce, body["action_hash"]) for nonce in body["authorisation"]["nonces"]}
    if wrong := sorted(stored ^ logged, key=repr):
        nonce, wanted = map(str, wrong[0])
        difference = (
            "is missing, though the log has its use" if wrong[0] in logged else "is stored, without a use in the log"
        )
        raise Refused(f"used_nonces: nonce {nonce[:12]} of action {wanted[:12]} {difference}; {len(wrong)} rows differ")


def check_decisions(session: Session, trust: Trust) -> None:
    """Refuse if a decision was not made by the person it names, or a use lacks approvals that were valid then."""
    for request in all_requests(session):
        wanted = action_hash(request.action)
        approvals = approvals_of(session, wanted)
        for approval in approvals:
            said = approval.statement
            if not is_authentic(approval, request.action, trust, said.issued_at):
                raise Refused(
                    f"the decision of {said.approver} on action {wanted[:12]} (nonce {said.nonce[:12]}) does not bear"
                    " the signature of a key that was trusted then: it is forged, or the list of approvers was changed"
                )
        if use := use_of(session, wanted):
            if any(_vetoed(approval, request, trust, use[1]) for approval in approvals):
                raise Refused(f"action {wanted[:12]} was rejected, and yet there is a use of it: it was never granted")
            _check_use(wanted, use[1], [entry for entry in approvals if _held(entry, request, trust, use[1])])


def _vetoed(approval: Approval, request: ApprovalRequest, trust: Trust, granted: Authorisation) -> bool:
    """Whether the decision was a rejection whose key was still trusted when the use was granted."""
    rejected = approval.statement.decision == "reject"
    return rejected and is_authentic(approval, request.action, trust, granted.granted_at)


def _held(approval: Approval, request: ApprovalRequest, trust: Trust, granted: Authorisation) -> bool:
    """Whether the decision was an approval in force when the use was granted."""
    said = approval.statement
    in_force = said.decision == "approve" and granted.granted_at < said.expires_at
    return in_force and is_authentic(approval, request.action, trust, granted.granted_at)


def _check_use(wanted: str, granted: Authorisation, held: list[Approval]) -> None:
    said = {approval.statement.nonce: approval.statement for approval in held}
    rests = granted.action_hash == wanted and granted.nonces and set(granted.nonces) <= set(said)
    if (
        not rests
        or set(granted.approvers) != {said[nonce].approver for nonce in granted.nonces}
        or granted.expires_at > min(said[nonce].expires_at for nonce in granted.nonces)
    ):
        raise Refused(
            f"the use of action {wanted[:12]} at {granted.granted_at.isoformat()} does not rest on approvals that were"
            " in force then: it was never granted"
        )


def _logged_rows(session: Session, wanted: str) -> list[AuditRow]:
    query = "SELECT seq, at, kind, body, previous_hash, hash FROM audit WHERE kind IN (?, ?, ?) AND body LIKE ?"
    return [AuditRow(*row) for row in session.execute(query, (REQUESTED, DECIDED, USED, f"%{wanted}%"))]


def _action_hash_in(row: AuditRow) -> str:
    """The hash of the action that a row about a request, a decision or a use names."""
    wanted = _named_action(row.checked_body())
    if not isinstance(wanted, str):
        raise Refused(f"row {row.seq} of the audit log is {row.kind} and names no action: GAELP did not write it")
    return wanted


@lru_cache(_KEPT_BODIES)
def _named_action(body: bytes) -> object:
    parsed = parse(body)
    named = parsed.get("action_hash") if isinstance(parsed, dict) else None
    return named if isinstance(named, str) else None


def _stored(session: Session, wanted: str) -> list[bytes]:
    request, use = request_of(session, wanted), use_of(session, wanted)
    bodies = [decided_body(wanted, approval) for approval in approvals_of(session, wanted)]
    if request:
        bodies.append(requested_body(wanted, request))
    if use:
        bodies.append(used_body(wanted, *use))
    return [canonical(body) for body in bodies]


def _value(model: BaseModel) -> object:
    return model.model_dump(mode="json")
