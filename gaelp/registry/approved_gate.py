"""Find what a promotion needs: a passing verdict on exactly this model, and a person's approval of it, both stored."""

import hashlib
from dataclasses import dataclass

from gaelp.errors import Refused
from gaelp.gates import Verdict, check_replay
from gaelp.gates.decision_store import DecisionStore
from gaelp.gates.decisions import GateDecision, GateQuestion, rejection_text
from gaelp.registry.aliases import GateReference
from gaelp.registry.manifest import ModelManifest, as_label
from gaelp.registry.refusals import Tampered

__all__ = ["ApprovedGate", "check_still_approved", "find_approved_gate", "reference_of", "verdict_hash"]


@dataclass(frozen=True, slots=True)
class ApprovedGate:
    """A question that a person answered with yes."""

    question: GateQuestion
    decision: GateDecision


def verdict_hash(verdict: Verdict) -> str:
    """SHA-256 (hex) of a verdict with its gate, its evidence and every rule."""
    return hashlib.sha256(verdict.canonical_json().encode("ascii")).hexdigest()


def find_approved_gate(decisions: DecisionStore, manifest: ModelManifest) -> ApprovedGate:
    """The newest gate that judged this model, if it passed and a person approved it; Refused says what is missing.

    `decisions` checks the signatures that the policy of the run asks for.
    """
    run_id, what = manifest.lineage.run_id, f"version {manifest.version} of {manifest.name}"
    asked = [question for question, _ in decisions.history(run_id) if question.model_hash == manifest.model_hash]
    if not asked:
        raise Refused(
            f"{what} is model {manifest.model_hash[:12]} of run {run_id}; no gate of that run has asked about it."
            f" Let a gate judge it: `gaelp resume {run_id}`"
        )
    question = asked[-1]
    check_replay(question.verdict)
    if question.verdict.outcome != "pass":
        raise Refused(
            f"{what}: gate {question.gate} of run {run_id} says {question.verdict.outcome}; only a verdict that passed"
            " can be promoted. Promote a version that passed: `gaelp models list`"
        )
    decision = _checked_decision(question, decisions.decision(question), what)
    _check_registered(question, manifest, what)
    return ApprovedGate(question, decision)


def reference_of(approved: ApprovedGate) -> GateReference:
    """What the record of a promotion keeps of verdict and decision."""
    question, decision = approved.question, approved.decision
    return GateReference(
        run_id=question.run_id,
        gate=question.gate,
        evidence_hash=question.evidence_hash,
        verdict_hash=verdict_hash(question.verdict),
        model_hash=question.model_hash,
        decided_by=as_label(decision.who),
        decided_at=decision.decided_at,
        reason=as_label(decision.why),
        decision_hash=_decision_hash(decision),
    )


def check_still_approved(decisions: DecisionStore, reference: GateReference, what: str) -> None:
    """Raise Tampered if the decision that a promotion rests on is not in the record of decisions any more."""
    for question, decision in decisions.history(reference.run_id):
        same = (question.gate, question.evidence_hash) == (reference.gate, reference.evidence_hash)
        if same and decision is not None and _decision_hash(decision) == reference.decision_hash:
            return
    raise Tampered(
        f"{what} was promoted because {reference.decided_by} approved gate {reference.gate} of run {reference.run_id};"
        " that decision is missing in the record of decisions, or was changed. Restore decisions.db from a backup"
    )


def _checked_decision(question: GateQuestion, decision: GateDecision | None, what: str) -> GateDecision:
    show = f"`gaelp gate show {question.run_id}`"
    if decision is None:
        raise Refused(
            f"{what}: gate {question.gate} of run {question.run_id} passed, but nobody has decided. Look at the verdict"
            f" ({show}), then `gaelp gate approve {question.run_id}`"
        )
    if decision.choice == "reject":
        raise Refused(f"{what} was {rejection_text(decision)}. Promote another version: `gaelp models list`")
    if decision.choice != "approve":
        raise Refused(f"{what}: {decision.who} decided {decision.choice} at gate {question.gate}; allowed: approve")
    if decision.through == "auto":
        raise Refused(
            f"{what}: gate {question.gate} of run {question.run_id} was approved automatically. A promotion needs a"
            " person's approval: begin a run without `--approve auto`, and decide at its gate"
        )
    return decision


def _check_registered(question: GateQuestion, manifest: ModelManifest, what: str) -> None:
    judged = {(verdict.gate, verdict.evidence_hash) for verdict in manifest.verdicts if verdict.outcome == "pass"}
    if (question.gate, question.evidence_hash) not in judged:
        raise Refused(
            f"{what} was registered without the verdict {question.code} of gate {question.gate}, which was approved:"
            " register the model again after this gate, and promote that version"
        )


def _decision_hash(decision: GateDecision) -> str:
    return hashlib.sha256(decision.model_dump_json().encode("utf-8")).hexdigest()
