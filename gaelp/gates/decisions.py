"""What a person is asked at a gate, and what they may answer; the answer is bound to the exact verdict they saw."""

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
    "check_choice",
    "check_decision",
    "question_status",
]

GateChoice = Literal["approve", "reject", "rerun"]
QuestionStatus = Literal["waiting", "overdue", "expired"]

CODE_LENGTH = 8  # enough to tell verdicts apart, short enough to type


def _said(text: str) -> str:
    text = " ".join(text.split())
    if not text or not text.isprintable():
        raise ValueError("saw no text; allowed: one printable line. Say it in a few words.")
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
    waker: str | None = None  # what has to be woken after an answer: the flow run's id
    looks: PositiveInt = 1  # runs judged on the same data so far, this one included
    may_rerun: bool = True  # False: the phase looks at its data or spends its money once

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
        """What may be answered: only a verdict that passed can be approved."""
        approve: tuple[GateChoice, ...] = ("approve",) if self.verdict.outcome == "pass" else ()
        rerun: tuple[GateChoice, ...] = ("rerun",) if self.may_rerun else ()
        return (*approve, "reject", *rerun)

    def asks_the_same(self, other: "GateQuestion") -> bool:
        """Whether both put the same evidence, model and outcome to a person, rule by rule."""
        mine, others = (
            (one.evidence_hash, one.model_hash, one.verdict.outcome, [rule.outcome for rule in one.verdict.results])
            for one in (self, other)
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


def question_status(question: GateQuestion, now: datetime) -> QuestionStatus:
    """How long a question has been left alone."""
    if now >= question.expires_at:
        return "expired"
    return "overdue" if now >= question.remind_at else "waiting"


def check_decision(question: GateQuestion, decision: GateDecision) -> None:
    """Refuse an answer to another run, gate or verdict, one that came too late, or one the verdict does not allow."""
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
    """Refuse an answer that the verdict or the phase does not allow, or that comes too late."""
    if choice not in question.choices:
        raise Refused(
            f"gate {question.gate} of run {question.run_id} says {question.verdict.outcome}; allowed:"
            f" {' or '.join(question.choices)}. An agent without the evidence is not approved by anyone, and a phase"
            " that looks at its data or spends its money once is not made again"
        )
    if at >= question.expires_at:
        raise Refused(
            f"gate {question.gate} of run {question.run_id} expired at {question.expires_at:%Y-%m-%d %H:%M:%S} UTC:"
            f" `gaelp resume {question.run_id}` asks again"
        )
