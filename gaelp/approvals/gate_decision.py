"""The human half of a gate: people approve exactly the verdict that the rules gave."""

from collections.abc import Iterable
from datetime import datetime

from gaelp.approvals.action import LiveOrSandbox, SignedAction
from gaelp.approvals.approval import Approval
from gaelp.approvals.authorise import Authorisation, require
from gaelp.approvals.policy import ApprovalPolicy
from gaelp.approvals.trust import Trust
from gaelp.errors import Refused
from gaelp.gates import Verdict, check_replay

__all__ = ["approve_gate", "check_gate_action", "gate_action"]


def gate_action(
    verdict: Verdict, *, model_hash: str, requester: str, attempt: int, world: LiveOrSandbox = "live"
) -> SignedAction:
    """The action of letting a run through a gate, bound to the verdict that people are shown."""
    return SignedAction.model_validate(
        {
            "kind": "gate",
            "run_id": verdict.evidence.run_id,
            "requester": requester,
            "world": world,
            "gate": verdict.gate.name,
            "attempt": attempt,
            "model_hash": model_hash,
            "evidence_hash": verdict.evidence_hash,
        }
    )


def check_gate_action(verdict: Verdict, action: SignedAction) -> None:
    """Refuse an action that is not about this verdict, and a verdict that is no pass or was changed."""
    check_replay(verdict)
    if verdict.outcome != "pass":
        raise Refused(
            f"gate {verdict.gate.name!r} says {verdict.outcome} on run {verdict.evidence.run_id!r}; no approval"
            " replaces a pass. Bring better evidence and have it judged."
        )
    asked = (action.kind, action.run_id, action.gate, action.evidence_hash)
    judged = ("gate", verdict.evidence.run_id, verdict.gate.name, verdict.evidence_hash)
    if asked != judged:
        raise Refused(
            f"the action is about {' '.join(map(str, asked))}, the verdict about {' '.join(judged)}:"
            " have approved what was judged"
        )


def approve_gate(
    verdict: Verdict,
    action: SignedAction,
    approvals: Iterable[Approval],
    policy: ApprovalPolicy,
    trust: Trust,
    at: datetime,
) -> Authorisation:
    """Both halves of a gate: the rules passed on exactly this evidence, and people approved it."""
    check_gate_action(verdict, action)
    return require(action, approvals, policy, trust, at)
