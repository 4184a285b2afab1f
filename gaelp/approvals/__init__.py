"""Ed25519-signed approvals bound to the exact action, and the hash-chained audit log."""

from gaelp.approvals.action import SignedAction, action_hash
from gaelp.approvals.approval import Approval, Statement, sign, unsigned
from gaelp.approvals.audit import AuditLog, AuditProblem, AuditRow
from gaelp.approvals.audit_heads import check_heads, publish_head, read_heads
from gaelp.approvals.authorise import Authorisation, require, state_of
from gaelp.approvals.database import approvals_place, is_begun, open_database
from gaelp.approvals.gate_decision import approve_gate, check_gate_action, gate_action
from gaelp.approvals.keys import SigningKey, load_key, new_key, save_key
from gaelp.approvals.mandate import Mandate, describe_mandate
from gaelp.approvals.policy import ApprovalPolicy, ApprovalRequest, RequestFacts, load_policy, policy_for, stricter
from gaelp.approvals.revocations import trusted_approvers
from gaelp.approvals.store import ApprovalStore
from gaelp.approvals.trust import Approver, Trust, load_trust

__all__ = [
    "Approval",
    "ApprovalPolicy",
    "ApprovalRequest",
    "ApprovalStore",
    "Approver",
    "AuditLog",
    "AuditProblem",
    "AuditRow",
    "Authorisation",
    "Mandate",
    "RequestFacts",
    "SignedAction",
    "SigningKey",
    "Statement",
    "Trust",
    "action_hash",
    "approvals_place",
    "approve_gate",
    "check_gate_action",
    "check_heads",
    "describe_mandate",
    "gate_action",
    "is_begun",
    "load_key",
    "load_policy",
    "load_trust",
    "new_key",
    "open_database",
    "policy_for",
    "publish_head",
    "read_heads",
    "require",
    "save_key",
    "sign",
    "state_of",
    "stricter",
    "trusted_approvers",
    "unsigned",
]
