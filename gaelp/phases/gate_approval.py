"""Signed approvals at the gates: what a person signs there, and when enough have signed."""

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
    load_trust,
)
from gaelp.approvals.trust import trust_place
from gaelp.authority.signatures import Signer, submit_decision
from gaelp.clock import Clock
from gaelp.config.settings import Settings
from gaelp.database import Place
from gaelp.errors import Refused
from gaelp.gates.decision_store import DecisionStore, decisions_place
from gaelp.gates.decisions import GateDecision, GateQuestion

__all__ = ["GateApprovals", "gate_approvals"]

_REQUESTER = "pipeline"  # nobody's name: with four eyes, no approver is left out for having asked


@dataclass(frozen=True, slots=True)
class GateApprovals:
    """The policy that holds at the gates of one home, who is trusted there, and the records."""

    place: Place  # of the signatures
    decisions_place: Place
    policy: ApprovalPolicy
    trust: Callable[[], Trust]  # read anew each time: who is revoked is revoked at once

    def decisions(self) -> DecisionStore:
        """The record of decisions, which takes and gives only what the policy allows."""
        return DecisionStore(self.decisions_place, authorise=self.authorise)

    def check_automatic(self) -> None:
        """Refuse to have gates approved by nobody where money can move."""
        if not self.policy.sandbox:
            raise Refused(
                "approval auto is for the sandbox, and this policy asks for signatures: have people decide, or choose a"
                " policy with sandbox: true (approvals.policy) where no money can move"
            )

    def authorise(self, question: GateQuestion, decision: GateDecision) -> None:
        """Refuse an approval that the signatures do not carry; to reject or to train again needs none."""
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
        """Sign a question and keep it; the signatures of a decision once there are enough, else none yet."""
        store, action, trust = ApprovalStore(self.place, clock), self._action(question), self.trust()
        store.request(action)
        state = submit_decision(store, action, self.policy, Signer(trust, key, why), choice)
        if state == "approved":
            store.consume(action, self.policy, trust, consumer=f"gate {question.gate} of run {question.run_id}")
        if state not in {"approved", "rejected"}:
            return ()
        return tuple(one.model_dump_json() for one in store.approvals(action))

    def missing(self, question: GateQuestion, clock: Clock) -> str:
        """Who still has to sign: how many people, with which roles, and who of those trusted could."""
        trust, now = self.trust(), clock.now()
        given = ApprovalStore(self.place, clock).tally(self._action(question), self.policy, trust)
        signed = {entry.approval.statement.approver for entry in given.of("approves")}
        roles = set(self.policy.roles)
        able = {
            person.name
            for person in trust.approvers
            if person.trusted_at(now) and person.name not in signed and (not roles or roles & set(person.roles))
        }
        return f"{', '.join(given.missing)} ({', '.join(sorted(able)) or 'nobody else is trusted yet'})"

    def _action(self, question: GateQuestion) -> SignedAction:
        return gate_action(
            question.verdict,
            model_hash=question.model_hash,
            requester=_REQUESTER,
            attempt=question.attempt,
            world="sandbox" if self.policy.sandbox else "live",
        )


def gate_approvals(settings: Settings, policy: ApprovalPolicy | None = None) -> GateApprovals:
    """What the settings say about approvals at the gates, under the policy of a run where one is given."""
    trusted = trust_place(settings)
    return GateApprovals(
        place=approvals_place(settings),
        decisions_place=decisions_place(settings),
        policy=policy or load_policy(settings.approvals.policy),
        trust=lambda: load_trust(trusted),
    )
