"""What a person is asked at a gate, and what they may answer; an answer is bound to one exact verdict."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, NonNegativeInt, PositiveInt

from gaelp.config.base import Frozen
from gaelp.config.field_types import Instant
from gaelp.config.names import Name, Slug
from gaelp.errors import Refused
from gaelp.gates.verdict import Verdict

__all__ = [
    "CODE_LENGTH",
    "GateChoice",
    "GateDecision",
    "GateQuestion",
    "QuestionStatus",
    "already_decided",
    "check_choice",
    "check_decision",
    "question_status",
    "rejection_text",
]

GateChoice = Literal["approve", "reject", "rerun"]
QuestionStatus = Literal["waiting", "overdue", "expired"]

CODE_LENGTH = 8  # enough to distinguish verdicts, short enough to type


def _said(text: str) -> str:
    text = " ".join(text.split())
    if not text or not text.isprintable():
        raise ValueError("saw no text; allowed: one printable line. Give a few words.")
    return text


Said = Annotated[str, Field(max_length=500), AfterValidator(_said)]


class GateQuestion(Frozen):
    """A gate that waits for a person: the verdict to judge, and until when."""

    run_id: Name
    gate: Slug
    attempt: PositiveInt  # of the phase before the gate; each trains with another seed
    verdict: Verdict
    model_hash: str = Field(pattern="^[0-9a-f]{64}$")  # of the agent that was judged
    opened_at: Instant
    remind_at: Instant
    expires_at: Instant
    waker: str | None = None  # the flow run to resume after an answer
    looks: PositiveInt = 1  # runs judged on the same data so far, this one included
    may_rerun: bool = True  # False: the phase reads its data or spends its money only once

    @property
    def evidence_hash(self) -> str:
        """What an answer must name."""
        return self.verdict.evidence_hash

    @property
    def code(self) -> str:
        """The beginning of the evidence hash: what a person types to show which verdict they mean."""
        return self.evidence_hash[:CODE_LENGTH]

    @property
    def choices(self) -> tuple[GateChoice, ...]:
        """The possible answers: only a verdict that passed can be approved."""
        approve: tuple[GateChoice, ...] = ("approve",) if self.verdict.outcome == "pass" else ()
        rerun: tuple[GateChoice, ...] = ("rerun",) if self.may_rerun else ()
        return (*approve, "reject", *rerun)

    def asks_the_same(self, other: "GateQuestion") -> bool:
        """Return whether both are about the same evidence, model and outcome, rule by rule."""
        mine, others = (
            (asked.evidence_hash, asked.model_hash, asked.verdict.outcome, [r.outcome for r in asked.verdict.results])
            for asked in (self, other)
        )
        return mine == others


class GateDecision(Frozen):
    """A person's answer: who, when, why, and to which verdict."""

    run_id: Name
    gate: Slug
    evidence_hash: str = Field(pattern="^[0-9a-f]{64}$")
    choice: GateChoice
    who: Said
    why: Said
    decided_at: Instant
    through: Literal["command", "form", "prompt", "auto"]
    limits_micros: dict[Name, NonNegativeInt] = Field(default_factory=dict)  # what the next phase may spend, if any
    signatures: tuple[str, ...] = ()  # signed approvals of this very decision, as text


def rejection_text(decision: GateDecision) -> str:
    """How the record of a run says that it was rejected."""
    return f"rejected by {decision.who} at gate {decision.gate}: {decision.why}"


def question_status(question: GateQuestion, now: datetime) -> QuestionStatus:
    """Return whether a question still waits, is overdue or has expired."""
    if now >= question.expires_at:
        return "expired"
    return "overdue" if now >= question.remind_at else "waiting"


def already_decided(decision: GateDecision) -> Refused:
    """Return the error for an answer that differs from a recorded decision."""
    return Refused(
        f"gate {decision.gate} of run {decision.run_id} was decided by {decision.who} at"
        f" {decision.decided_at:%Y-%m-%d %H:%M:%S} UTC: {decision.choice} ({decision.why}). A decision is not changed"
    )


def check_decision(question: GateQuestion, decision: GateDecision) -> None:
    """Raise Refused for an answer to another run, gate or verdict, a late one, or one the verdict does not allow."""
    asked = (question.run_id, question.gate, question.evidence_hash)
    if (decision.run_id, decision.gate, decision.evidence_hash) != asked:
        raise Refused(
            f"the decision is about run {decision.run_id}, gate {decision.gate}, verdict"
            f" {decision.evidence_hash[:CODE_LENGTH]}; asked is run {question.run_id}, gate {question.gate}, verdict"
            f" {question.code}. Look at that verdict (`gaelp gate show {question.run_id}`) and decide on it"
        )
    check_choice(question, decision.choice, decision.decided_at)
    if decision.decided_at < question.opened_at:
        raise Refused(
            f"the decision is of {decision.decided_at:%Y-%m-%d %H:%M:%S} UTC, the question of"
            f" {question.opened_at:%Y-%m-%d %H:%M:%S}: look at the verdict, then decide"
        )


def check_choice(question: GateQuestion, choice: GateChoice, at: datetime) -> None:
    """Raise Refused for an answer that the verdict or the phase does not allow, or that comes too late."""
    if choice not in question.choices:
        raise Refused(
            f"gate {question.gate} of run {question.run_id} says {question.verdict.outcome}; allowed:"
            f" {' or '.join(question.choices)}. Only a verdict that passed can be approved, and a phase that reads its"
            " data or spends its money once is not repeated"
        )
    if at >= question.expires_at:
        raise Refused(
            f"gate {question.gate} of run {question.run_id} expired at {question.expires_at:%Y-%m-%d %H:%M:%S} UTC:"
            f" `gaelp resume {question.run_id}` asks again"
        )
