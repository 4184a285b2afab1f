"""Uses of approvals under a policy that asked for less than the one that should have applied.

A policy and a list of approvers are files, and whoever runs a command can name others. So each use is judged again, as
of its own time, by the files of whoever runs the check.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gaelp.approvals.action import SignedAction, action_hash
from gaelp.approvals.agreement import USED
from gaelp.approvals.approval_status import Circumstances
from gaelp.approvals.authorise import Authorisation, tally
from gaelp.approvals.database import Session
from gaelp.approvals.policy import ApprovalPolicy
from gaelp.approvals.tables import all_requests, approvals_of, use_of
from gaelp.approvals.trust import Trust

__all__ = ["InsufficientUse", "insufficient_uses"]


@dataclass(frozen=True, slots=True)
class InsufficientUse:
    """A use that would not have been granted, its row in the audit log, and what it lacked."""

    seq: int
    action: SignedAction
    granted: Authorisation
    missing: tuple[str, ...]

    def __str__(self) -> str:
        terms = self.granted.terms
        under = f"a policy that asked for {terms.quorum}" if terms else "an unknown policy"
        what = f"{self.action.kind} {self.action.subject or self.action.run_id!r}"
        return (
            f"row {self.seq}: {what} was done with the approval"
            f" of {', '.join(self.granted.approvers) or 'nobody'} under {under}; the policy in force here asks for"
            f" {', '.join(self.missing)}"
        )


def insufficient_uses(
    session: Session, policy_of: Callable[[SignedAction], ApprovalPolicy], trust: Trust
) -> Iterator[InsufficientUse]:
    """Every use of a live action whose approvals are too few under the policy that `policy_of` returns for it."""
    for request in all_requests(session):
        action, wanted = request.action, action_hash(request.action)
        use = use_of(session, wanted)
        if use is None or action.world == "sandbox":
            continue
        granted = use[1]
        used = [approval for approval in approvals_of(session, wanted) if approval.statement.nonce in granted.nonces]
        given = tally(used, Circumstances(action, policy_of(action), trust, granted.granted_at))
        if given.missing:
            yield InsufficientUse(_row_of(session, wanted), action, granted, given.missing)


def _row_of(session: Session, wanted: str) -> int:
    query = "SELECT seq FROM audit WHERE kind = ? AND body LIKE ? ORDER BY seq LIMIT 1"
    row = session.execute(query, (USED, f'%"action_hash":"{wanted}"%')).fetchone()
    return int(row[0]) if row else -1
