"""Actions that people were asked to decide on: open the approvals, list them, and find one by its hash."""

from pathlib import Path
from typing import Literal

from gaelp.approvals import ApprovalStore, SignedAction, action_hash, approvals_place, is_begun
from gaelp.approvals.policy import ApprovalRequest
from gaelp.authority.audit_records import check_approvals_kept
from gaelp.clock import SystemClock
from gaelp.config.places import shown
from gaelp.config.settings import Settings
from gaelp.errors import BadInput

__all__ = ["existing_approvals", "find_request", "has_approvals", "subject_of"]

_DIGITS = 12
_LISTED_MAX = 10


def has_approvals(settings: Settings) -> bool:
    """Whether anybody has requested anything; refused if the approvals existed and are lost."""
    check_approvals_kept(settings)
    return is_begun(approvals_place(settings))


def existing_approvals(settings: Settings) -> ApprovalStore:
    """The approvals of these settings, which must exist: people decide on what somebody has requested."""
    place = approvals_place(settings)
    if not has_approvals(settings):
        where = shown(place) if isinstance(place, Path) else "the PostgreSQL database"
        raise BadInput(f"{where}: there are no approvals yet; set GAELP_HOME or --config to where they are")
    return ApprovalStore(place, SystemClock(), create=False)


def subject_of(action: SignedAction) -> str:
    """What an action is about, in a few words."""
    if action.kind == "revive":
        return f"release the stop {action.subject}"
    if action.kind == "release":
        model, campaigns = str(action.model_hash)[:_DIGITS], ", ".join(action.campaigns)
        return f"let model {model} of run {action.run_id} spend on {campaigns} ({action.account})"
    return action.subject or f"{action.gate} of run {action.run_id}"


def find_request(store: ApprovalStore, digits: str, noun: Literal["action", "mandate"] = "action") -> ApprovalRequest:
    """The only request, or the only one for a mandate, whose action's hash begins with these digits."""
    requests = [request for request in store.requests() if noun == "action" or request.action.mandate is not None]
    matches = [request for request in requests if digits and action_hash(request.action).startswith(digits.lower())]
    if len(matches) != 1:
        raise BadInput(_no_single_match(digits, matches, requests, noun))
    return matches[0]


def _no_single_match(
    digits: str, matches: list[ApprovalRequest], requests: list[ApprovalRequest], noun: Literal["action", "mandate"]
) -> str:
    if not requests:
        return f"{noun.upper()} is {digits!r}, but there are no {noun}s yet"
    listed = matches or requests
    known = "; ".join(
        f"{action_hash(request.action)[:_DIGITS]} ({subject_of(request.action)})" for request in listed[-_LISTED_MAX:]
    )
    if matches:
        return f"{len(matches)} {noun}s begin with {digits!r}: {known}. Give more digits of one of them"
    newest = f"the newest {_LISTED_MAX} of {len(requests)} are" if len(requests) > _LISTED_MAX else "there are"
    return f"no {noun} begins with {digits!r}; {newest}: {known}"
