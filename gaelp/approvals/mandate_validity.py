"""Check that a mandate is still in force: its approvals are used up once, and it holds until something ends it."""

from datetime import datetime

from gaelp.approvals.action import SignedAction
from gaelp.approvals.agreement import check_agreement
from gaelp.approvals.approval_status import Circumstances, is_authentic
from gaelp.approvals.audit import has_row
from gaelp.approvals.authorise import check_granted, missing_approvers
from gaelp.approvals.database import Session
from gaelp.approvals.policy import ApprovalPolicy
from gaelp.approvals.tables import approvals_of, request_of, use_of
from gaelp.approvals.trust import Trust
from gaelp.errors import Refused

__all__ = ["REVOKED", "require_in_force"]

REVOKED = "approval.revoked"


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
