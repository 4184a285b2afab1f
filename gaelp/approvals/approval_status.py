"""What one decision is worth for one action at one instant: it approves, rejects, is idle, or is void.

Idle is what honest use leaves behind: an approval that expired, or a decision of someone who does not count. Void is
what honest use cannot produce: a wrong signature, another action, a used nonce. One void decision stops everything,
because it may be a rejection that somebody damaged on purpose.
"""

from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from gaelp.approvals.action import SignedAction, action_hash
from gaelp.approvals.approval import APPROVAL_DOMAIN, Approval, Statement
from gaelp.approvals.keys import signed_by
from gaelp.approvals.policy import ApprovalPolicy
from gaelp.approvals.trust import Approver, Trust

__all__ = ["ApprovalStatus", "Circumstances", "Worth", "approval_status", "is_authentic"]

Worth = Literal["approves", "idle", "rejects", "void"]

_REVOKED = "its key has been revoked"


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Everything an approval is checked against."""

    action: SignedAction
    policy: ApprovalPolicy
    trust: Trust
    at: datetime
    used_nonces: Container[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ApprovalStatus:
    """What an approval is worth, and why it is not worth more."""

    approval: Approval
    worth: Worth
    why: str


def approval_status(approval: Approval, around: Circumstances) -> ApprovalStatus:
    """Check one approval against the action, the policy, the trusted keys and the time."""
    key = _key_of(approval, around.trust)
    if problem := _void(approval, key, around):
        return ApprovalStatus(approval, "void", problem)
    if approval.statement.decision == "reject":
        # A rejection does not expire. Revoking its key ends it: the owner of a key can write any date.
        if key is not None and not key.trusted_at(around.at):
            return ApprovalStatus(approval, "idle", _REVOKED)
        return ApprovalStatus(approval, "rejects", approval.statement.reason)
    if problem := _idle(approval.statement, key, around):
        return ApprovalStatus(approval, "idle", problem)
    return ApprovalStatus(approval, "approves", "valid")


def is_authentic(approval: Approval, action: SignedAction, trust: Trust, at: datetime) -> bool:
    """Whether the decision is about this action and by the person it names, with a key trusted at that instant too."""
    if approval.statement.action_hash != action_hash(action):
        return False
    if approval.signature is None:
        return action.world == "sandbox"
    key = _key_of(approval, trust)
    return key is not None and key.trusted_at(approval.statement.issued_at) and key.trusted_at(at)


def _key_of(approval: Approval, trust: Trust) -> Approver | None:
    """The key of the approver that made the signature."""
    if approval.signature is None:
        return None
    value = approval.statement.model_dump(mode="json")
    for entry in trust.keys_of(approval.statement.approver):
        if signed_by(entry.public_key, approval.signature, APPROVAL_DOMAIN, value):
            return entry
    return None


def _void(approval: Approval, key: Approver | None, around: Circumstances) -> str | None:
    if approval.statement.action_hash != action_hash(around.action):
        return "it is for another action"
    return _wrong_signature(approval, key, around) or _wrong_times_or_nonce(approval.statement, around)


def _wrong_signature(approval: Approval, key: Approver | None, around: Circumstances) -> str | None:
    """What is wrong with the signature and its key."""
    said = approval.statement
    if approval.signature is None:
        no_money = around.policy.sandbox and around.action.world == "sandbox"
        return None if no_money else "it is not signed, and real money may move"
    if key is None:
        known = any(around.trust.keys_of(said.approver))
        return "its signature does not match what it says" if known else "nobody of that name is trusted"
    if not key.trusted_at(said.issued_at):
        return f"its key was not trusted when it was issued, {said.issued_at.isoformat()}"
    return None


def _wrong_times_or_nonce(said: Statement, around: Circumstances) -> str | None:
    """What is wrong with its times and its nonce."""
    policy = around.policy
    lifetime, lifetime_max = said.expires_at - said.issued_at, timedelta(minutes=policy.valid_minutes_max)
    if said.issued_at > around.at + timedelta(seconds=policy.skew_seconds):
        return f"it is from the future, {said.issued_at.isoformat()}"
    if lifetime > lifetime_max:
        return f"it would be valid for {lifetime}; allowed: {lifetime_max}"
    return "it was used before" if said.nonce in around.used_nonces else None


def _idle(said: Statement, key: Approver | None, around: Circumstances) -> str | None:
    policy = around.policy
    if around.at >= said.expires_at:
        return f"it expired at {said.expires_at.isoformat()}"
    if key is not None and not key.trusted_at(around.at):
        return _REVOKED
    if policy.four_eyes and said.approver.casefold() == around.action.requester.casefold():
        return "the requester does not count as an approver (four eyes)"
    roles = around.trust.roles_of(said.approver, around.at)
    if policy.roles and not roles & set(policy.roles):
        return f"has the roles {', '.join(sorted(roles)) or 'none'}; needed is one of {', '.join(policy.roles)}"
    return None
