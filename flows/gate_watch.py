"""The watch over gates that nobody answers: an alert when one is overdue, another when it has expired."""

from datetime import datetime
from typing import Any

from prefect import flow
from prefect.events import emit_event
from prefect.logging import get_run_logger

from gaelp.clock import SystemClock
from gaelp.config import load_settings
from gaelp.gates.decisions import Question, standing
from gaelp.phases.gate_approval import gate_approvals

__all__ = ["gate_watch", "left_alone"]


@flow(name="gate-watch", flow_run_name="gate-watch", persist_result=True, result_serializer="json")
def gate_watch(config: str = "quick-test") -> Any:
    """Raise an alert for each gate that waits longer than it should."""
    now = SystemClock().now()
    questions = gate_approvals(load_settings(config).settings).decisions().open_questions()
    waiting = left_alone(questions, now)
    for text, question in waiting:
        get_run_logger().warning(text)
        emit_event(
            event=f"gaelp.gate.{standing(question, now)}",
            resource={"prefect.resource.id": f"gaelp.gate.{question.run_id}.{question.gate}"},
            payload={"text": text, "run_id": question.run_id, "gate": question.gate, "verdict": question.code},
        )
    return [text for text, _ in waiting]


def left_alone(questions: list[Question], now: datetime) -> list[tuple[str, Question]]:
    """What to say of each question that is overdue or has expired."""
    told = []
    for question in questions:
        match standing(question, now):
            case "overdue":
                told.append((_overdue(question, now), question))
            case "expired":
                told.append((_expired(question), question))
    return told


def _overdue(question: Question, now: datetime) -> str:
    hours = (now - question.opened_at).total_seconds() / 3600
    return (
        f"gate {question.gate} of run {question.run_id} has waited {hours:.1f} hours; it expires at"
        f" {question.expires_at:%Y-%m-%d %H:%M} UTC: `gaelp gate show {question.run_id}`"
    )


def _expired(question: Question) -> str:
    return (
        f"gate {question.gate} of run {question.run_id} expired at {question.expires_at:%Y-%m-%d %H:%M} UTC unanswered:"
        f" `gaelp resume {question.run_id}` asks again"
    )
