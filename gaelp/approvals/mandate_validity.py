"""Check that a mandate is still in force: its approvals are used up once, and it holds until something ends it."""

from dataclasses import dataclass
from datetime import datetime

from gaelp.approvals.action import SignedAction
from gaelp.approvals.agreement import check_agreement
from gaelp.approvals.approval_status import Circumstances, is_authentic
from gaelp.approvals.audit import find_body, has_row
from gaelp.approvals.authorise import check_granted, missing_approvers
from gaelp.approvals.canonical import parse
from gaelp.approvals.database import Session
from gaelp.approvals.policy import ApprovalPolicy
from gaelp.approvals.tables import approvals_of, request_of, use_of
from gaelp.approvals.trust import Trust
from gaelp.errors import DataError, Refused

__all__ = ["REVOKED", "Revocation", "find_revocation", "require_in_force"]

REVOKED = "approval.revoked"


@dataclass(frozen=True, slots=True)
class Revocation:
    """Who revoked a mandate, and why."""

    by: str
    reason: str


def find_revocation(session: Session, wanted: str) -> Revocation | None:
    """The first revocation of the action with this hash, as the log has it."""
    text = find_body(session, REVOKED, wanted)
    if text is None:
        return None
    try:
        body = parse(text.encode("utf-8"))
    except DataError:  # a damaged row still revokes; `gaelp audit verify` names it
        body = {}
    return Revocation(str(body.get("by", "unknown")), str(body.get("reason", "unknown")))


def require_in_force(session: Session, wanted: str, policy: ApprovalPolicy, trust: Trust, at: datetime) -> SignedAction:
    """The action with this hash; Refused unless enough people signed it whose keys are still trusted.

    The approvals must have been used, as the log records. They must have been enough then, and those whose keys are
    still trusted must be enough now. How long an approval may wait to be used no longer matters.
    """
    check_agreement(session, wanted)
    request, use = request_of(session, wanted), use_of(session, wanted)
    if request is None or use is None:
        reason = "nobody has requested it" if request is None else "not enough people have signed it"
        raise Refused(f"action {wanted[:12]} is not approved: {reason}")
    action, granted, approvals = request.action, use[1], approvals_of(session, wanted)
    if has_row(session, REVOKED, wanted):
        raise Refused(f"action {wanted[:12]} ({action.subject}) was revoked: have a new one signed")
    check_granted(action, granted, approvals, policy, trust)
    used = [approval for approval in approvals if approval.statement.nonce in granted.nonces]
    who = {approval.statement.approver for approval in used if is_authentic(approval, action, trust, at)}
    if missing := missing_approvers(who, Circumstances(action, policy, trust, at)):
        raise Refused(
            f"action {wanted[:12]} ({action.subject}) was signed by {', '.join(granted.approvers)}, and of these only"
            f" {', '.join(sorted(who)) or 'nobody'} is trusted still; the policy asks for {', '.join(missing)}: have a"
            " new one signed"
        )
    return action
