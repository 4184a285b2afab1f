"""Uses of approvals under a policy that asked for less than the one that should have held.

A policy and a list of approvers are files, and whoever runs a command can name others. So each use is judged again, as
of its own time, by the files of whoever looks.
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

__all__ = ["WeakUse", "weak_uses"]


@dataclass(frozen=True, slots=True)
class WeakUse:
    """A use that would not have been granted, the row that tells of it, and what it lacked."""

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


def weak_uses(session: Session, policy_of: Callable[[SignedAction], ApprovalPolicy], trust: Trust) -> Iterator[WeakUse]:
    """Every use of a live action that its own approvals do not carry under the policy which is given for it."""
    for request in all_requests(session):
        action, wanted = request.action, action_hash(request.action)
        found = use_of(session, wanted)
        if found is None or action.world == "sandbox":
            continue
        granted = found[1]
        given = [one for one in approvals_of(session, wanted) if one.statement.nonce in granted.nonces]
        worth = tally(given, Circumstances(action, policy_of(action), trust, granted.granted_at))
        if worth.missing:
            yield WeakUse(_row_of(session, wanted), action, granted, worth.missing)


def _row_of(session: Session, wanted: str) -> int:
    query = "SELECT seq FROM audit WHERE kind = ? AND body LIKE ? ORDER BY seq LIMIT 1"
    found = session.execute(query, (USED, f'%"action_hash":"{wanted}"%')).fetchone()
    return int(found[0]) if found else -1
