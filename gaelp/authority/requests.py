"""Actions that people were asked to decide on: open the approvals, list them, and find one by its hash."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from gaelp.approvals import ApprovalStore, SignedAction, Trust, action_hash, approvals_place, is_begun, policy_for
from gaelp.approvals.policy import ApprovalRequest
from gaelp.authority.audit_records import check_approvals_kept
from gaelp.clock import SystemClock
from gaelp.config.places import shown
from gaelp.config.settings import Settings
from gaelp.errors import BadInput

__all__ = ["RequestStatus", "existing_approvals", "find_request", "request_statuses"]

_DIGITS = 12
_LISTED_MAX = 10


@dataclass(frozen=True, slots=True)
class RequestStatus:
    """A request with its state (used, waiting, ...), who has decided on it, and when it expires."""

    action: SignedAction
    action_hash: str
    state: str
    signed_by: tuple[str, ...]
    expires_at: datetime


def existing_approvals(settings: Settings) -> ApprovalStore:
    """The approvals of these settings, which must exist: people decide on what somebody has requested."""
    check_approvals_kept(settings)
    place = approvals_place(settings)
    if not is_begun(place):
        where = shown(place) if isinstance(place, Path) else "the PostgreSQL database"
        raise BadInput(f"{where}: there are no approvals yet; set GAELP_HOME or --config to where they are")
    return ApprovalStore(place, SystemClock(), create=False)


def request_statuses(settings: Settings, trust: Trust) -> list[RequestStatus]:
    """Every request with its state, the oldest first; none where nobody has requested anything."""
    check_approvals_kept(settings)
    if not is_begun(approvals_place(settings)):
        return []
    store = existing_approvals(settings)
    statuses = []
    for request in store.requests():
        action, policy = request.action, policy_for(settings, request.action.world)
        state = "used" if store.is_used(action) else store.state(action, policy, trust)
        signed_by = tuple(approval.statement.approver for approval in store.approvals(action))
        statuses.append(RequestStatus(action, action_hash(action), state, signed_by, request.expires_at(policy)))
    return statuses


def find_request(store: ApprovalStore, digits: str, noun: Literal["action", "mandate"] = "action") -> ApprovalRequest:
    """The only request, or the only one for a mandate, whose action's hash begins with these digits."""
    requests = [request for request in store.requests() if noun == "action" or request.action.mandate is not None]
    matches = [request for request in requests if digits and action_hash(request.action).startswith(digits.lower())]
    if len(matches) != 1:
        known = ", ".join(action_hash(request.action)[:_DIGITS] for request in requests[-_LISTED_MAX:]) or "none"
        raise BadInput(
            f"{noun.upper()} {digits!r} fits {len(matches)} {noun}s; known: {known}. Give more digits of one of them"
        )
    return matches[0]
