"""Signed approvals at the gates: what a person signs, and when there are enough signatures."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from gaelp.approvals import (
    Approval,
    ApprovalPolicy,
    ApprovalStore,
    SignedAction,
    SigningKey,
    Trust,
    approvals_place,
    approve_gate,
    gate_action,
    load_policy,
    trusted_approvers,
)
from gaelp.authority.signatures import Signer, describe_missing, submit_decision
from gaelp.clock import Clock
from gaelp.config.settings import Settings
from gaelp.database import Place
from gaelp.errors import Refused
from gaelp.gates.decision_store import DecisionStore, decisions_place
from gaelp.gates.decisions import GateDecision, GateQuestion

__all__ = ["GateApprovals", "gate_approvals"]

_REQUESTER = "pipeline"  # not a person: under the four-eyes rule no approver is excluded as the requester


@dataclass(frozen=True, slots=True)
class GateApprovals:
    """The approval policy at the gates of one home, who is trusted there, and the records."""

    place: Place  # of the signatures
    decisions_place: Place
    policy: ApprovalPolicy
    trust: Callable[[], Trust]  # read again each time, so that a revocation takes effect at once

    def decisions(self) -> DecisionStore:
        """Return the record of decisions, which accepts and returns only what the policy allows."""
        return DecisionStore(self.decisions_place, authorise=self.authorise)

    def check_automatic(self) -> None:
        """Raise Refused if gates are to be approved automatically where money can move."""
        if not self.policy.sandbox:
            raise Refused(
                "approval auto is for the sandbox, and this policy asks for signatures: have people decide, or choose a"
                " policy with sandbox: true (approvals.policy) where no money can move"
            )

    def authorise(self, question: GateQuestion, decision: GateDecision) -> None:
        """Raise Refused for an approval without the signatures it needs; reject and rerun need none."""
        if decision.choice != "approve" or self.policy.sandbox:
            return
        if not decision.signatures:
            raise Refused(
                f"gate {question.gate} of run {question.run_id} takes signed approvals only, of {self.policy.quorum}:"
                f" `gaelp gate approve {question.run_id} --verdict {question.code} --key FILE --why WHY`"
            )
        approvals = [Approval.model_validate_json(text) for text in decision.signatures]
        approve_gate(
            question.verdict, self._action(question), approvals, self.policy, self.trust(), decision.decided_at
        )

    def add_signature(
        self, question: GateQuestion, key: SigningKey, choice: Literal["approve", "reject"], why: str, clock: Clock
    ) -> tuple[str, ...]:
        """Sign a question and store the signature; return all signatures once there are enough, else none."""
        store, action, trust = ApprovalStore(self.place, clock), self._action(question), self.trust()
        store.request(action)
        state = submit_decision(store, action, self.policy, Signer(trust, key, why), choice)
        if state == "approved":
            store.consume(action, self.policy, trust, consumer=f"gate {question.gate} of run {question.run_id}")
        if state not in {"approved", "rejected"}:
            return ()
        return tuple(approval.model_dump_json() for approval in store.approvals(action))

    def describe_missing(self, question: GateQuestion, clock: Clock) -> str:
        """Who has signed a question, and which signatures are still missing."""
        store = ApprovalStore(self.place, clock)
        return describe_missing(store.tally(self._action(question), self.policy, self.trust()))

    def _action(self, question: GateQuestion) -> SignedAction:
        return gate_action(
            question.verdict,
            model_hash=question.model_hash,
            requester=_REQUESTER,
            attempt=question.attempt,
            world="sandbox" if self.policy.sandbox else "live",
        )


def gate_approvals(settings: Settings, policy: ApprovalPolicy | None = None) -> GateApprovals:
    """Return how gates are approved with these settings, under the policy of a run if one is given."""
    return GateApprovals(
        place=approvals_place(settings),
        decisions_place=decisions_place(settings),
        policy=policy or load_policy(settings.approvals.policy),
        trust=lambda: trusted_approvers(settings),
    )
