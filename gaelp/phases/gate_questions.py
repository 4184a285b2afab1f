"""Which question a gate asks now, and whether a recorded decision answers it."""

from collections.abc import Callable
from datetime import datetime, timedelta

from gaelp.config.settings import GateSettings
from gaelp.errors import Refused
from gaelp.gates import Verdict
from gaelp.gates.decision_store import DecisionStore
from gaelp.gates.decisions import Decision, Question, check_decision
from gaelp.phases.declaration import PhaseDeclaration
from gaelp.phases.phase_result import PhaseResult

__all__ = ["find_decision", "put_question", "question_about"]


def question_about(
    declared: PhaseDeclaration, result: PhaseResult, verdict: Verdict, now: datetime, patience: GateSettings
) -> Question:
    """The question about a verdict as it was computed just now."""
    return Question(
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


def find_decision(store: DecisionStore, computed: Question) -> Decision | None:
    """The recorded decision on a verdict; an approval of another outcome or model than computed now is refused."""
    decision = store.decision(computed)
    if decision is None or decision.choice != "approve":
        return decision
    answered = [
        asked
        for asked, _ in store.history(computed.run_id)
        if (asked.gate, asked.evidence_hash) == (computed.gate, computed.evidence_hash)
        and asked.opened_at <= decision.decided_at < asked.expires_at
    ]
    asked = answered[-1]  # the store gives no decision without a question that it answers
    check_decision(asked.model_copy(update={"verdict": computed.verdict}), decision)
    if not asked.asks_the_same(computed):
        raise Refused(
            f"gate {computed.gate} of run {computed.run_id}: approved was {_text(asked)}; now there is"
            f" {_text(computed)}. What counts is what is there now: begin another run"
        )
    return decision


def put_question(
    store: DecisionStore, computed: Question, late_answer: Callable[[Question], Decision | None]
) -> Question:
    """Put the question on record; where it expired, an answer that came in time is recorded before it is put again."""
    earlier = [asked for asked, _ in store.history(computed.run_id) if asked.asks_the_same(computed)]
    if earlier and earlier[-1].expires_at <= computed.opened_at and late_answer(earlier[-1]):
        return earlier[-1]
    return store.ask(computed)


def _text(question: Question) -> str:
    return f"verdict {question.verdict.outcome} on model {question.model_hash[:12]}"
