"""The question that a gate asks now, and the recorded decision that answers it."""

from datetime import datetime, timedelta

from gaelp.config.settings import GateSettings, Settings
from gaelp.errors import Refused
from gaelp.gates import Verdict, judge
from gaelp.gates.decision_store import DecisionStore
from gaelp.gates.decisions import GateDecision, GateQuestion, check_decision
from gaelp.phases.declaration import PhaseDeclaration, check_model
from gaelp.phases.phase_result import PhaseResult
from gaelp.phases.run_folder import RunFolder
from gaelp.types import Phase, RunId

__all__ = ["check_passed", "find_decision", "judging_time", "question_about", "questions_about"]


def question_about(
    declared: PhaseDeclaration, result: PhaseResult, verdict: Verdict, now: datetime, patience: GateSettings
) -> GateQuestion:
    """Return the question about a verdict that was just computed."""
    return GateQuestion(
        run_id=result.run_id,
        gate=verdict.gate.name,
        attempt=result.attempt,
        verdict=verdict,
        model_hash=result.model_hash,
        opened_at=now,
        remind_at=now + timedelta(hours=patience.remind_hours),
        expires_at=now + timedelta(hours=patience.expire_hours),
        may_rerun=declared.second_attempt == "another_draw",
    )


def find_decision(store: DecisionStore, computed: GateQuestion) -> GateDecision | None:
    """Return the recorded decision on a verdict; raise Refused if it approved another outcome or model."""
    decision = store.decision(computed)
    if decision is None or decision.choice != "approve":
        return decision
    answered = [
        asked
        for asked, _ in store.history(computed.run_id)
        if (asked.gate, asked.evidence_hash) == (computed.gate, computed.evidence_hash)
        and asked.opened_at <= decision.decided_at < asked.expires_at
    ]
    asked = answered[-1]  # the store returns no decision without its question
    check_decision(asked.model_copy(update={"verdict": computed.verdict}), decision)
    if not asked.asks_the_same(computed):
        raise Refused(
            f"gate {computed.gate} of run {computed.run_id}: approved was {_text(asked)}; computed now is"
            f" {_text(computed)}. The approval does not cover it: begin another run"
        )
    return decision


def questions_about(store: DecisionStore, result: PhaseResult) -> list[GateQuestion]:
    """Return every question about a result, oldest first."""
    about = (result.verdict.gate.name, result.verdict.evidence_hash, result.model_hash)
    return [
        asked
        for asked, _ in store.history(result.run_id)
        if (asked.gate, asked.evidence_hash, asked.model_hash) == about
    ]


def judging_time(run: RunFolder, store: DecisionStore, result: PhaseResult, now: datetime) -> datetime:
    """Return the time at which a result is judged: now, since evidence ages, until a later phase has begun.

    From then on it is the time of the approval, because the later phase may take longer than the evidence stays fresh.
    """
    later = list(Phase)[list(Phase).index(result.phase) + 1 :]
    if not any((run.path / phase).exists() for phase in later):
        return now
    approved = [
        decision.decided_at
        for asked, decision in store.history(result.run_id)
        if decision is not None
        and decision.choice == "approve"
        and (asked.gate, asked.evidence_hash) == (result.verdict.gate.name, result.verdict.evidence_hash)
    ]
    return approved[-1] if approved else now


def check_passed(
    declared: PhaseDeclaration, result: PhaseResult, store: DecisionStore, settings: Settings, now: datetime
) -> None:
    """Raise Refused unless the gate of a result is approved on record, and its model is the approved one."""
    run = RunFolder(settings.home, RunId(result.run_id))
    verdict = judge(result.verdict.gate, result.verdict.evidence, judging_time(run, store, result, now))
    computed = question_about(declared, result, verdict, now, settings.gate)
    decision = find_decision(store, computed)
    if decision is None or decision.choice != "approve":
        raise Refused(
            f"run {result.run_id} has not passed gate {computed.gate}: {verdict.outcome},"
            f" {decision.choice if decision else 'nobody has decided'}. The next phase begins only after an approval"
        )
    check_model(declared, result, computed.model_hash, settings.home)


def _text(question: GateQuestion) -> str:
    return f"verdict {question.verdict.outcome} on model {question.model_hash[:12]}"
