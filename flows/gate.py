"""A gate in the flow: the automatic verdict first, then a person's decision, looked up in our own record.

Prefect suspends the run while it waits and gives back what was typed into its form; whether the run goes on is decided
by the record alone. A gate that timed out and is retried asks again, under another key.
"""

from collections.abc import Callable
from datetime import timedelta
from itertools import count

from prefect import suspend_flow_run
from prefect.client.schemas.objects import State
from prefect.logging import get_run_logger
from prefect.runtime import flow_run
from prefect.settings import PREFECT_UI_URL
from prefect.states import Failed
from pydantic import ValidationError

from flows.forms import form_for, read_answer
from flows.prompt import ask_in_terminal
from flows.run import Run
from gaelp.clock import SystemClock
from gaelp.errors import Refused, WaitingForPerson
from gaelp.gates import Verdict, judge
from gaelp.gates.decisions import Decision, Question
from tasks.results import PhaseOutcome
from tasks.verdicts import show_verdict

__all__ = ["ATTEMPTS_MAX", "GateClosed", "pass_gate"]

# Each attempt is another draw: with many of them, luck alone would pass sooner or later.
ATTEMPTS_MAX = 3

PhaseTask = Callable[[str, list[str], str, int], PhaseOutcome]


class GateClosed(Exception):
    """The run ends at a gate: refused by the verdict, or rejected by a person."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(reason)
        self.name = name
        self.reason = reason

    def state(self) -> State[None]:
        """How Prefect shows it."""
        return Failed(name=self.name, message=self.reason)


def pass_gate(run: Run, phase: PhaseTask) -> PhaseOutcome:
    """Carry out a phase and bring it through its gate; GateClosed where the run ends there."""
    for attempt in range(1, ATTEMPTS_MAX + 1):
        outcome = phase(run.config, run.overrides, run.run_id, attempt)
        decision = _decided(run, outcome)
        if decision.choice == "approve":
            return outcome
        if decision.choice == "reject":
            raise GateClosed("Rejected", f"gate {decision.gate}: rejected by {decision.who}: {decision.why}")
    raise GateClosed("Rejected", f"{ATTEMPTS_MAX} attempts were made, and the last was to be made again")


def _decided(run: Run, outcome: PhaseOutcome) -> Decision:
    stored = Verdict.model_validate(outcome["verdict"])
    now = SystemClock().now()
    verdict = judge(stored.gate, stored.evidence, now)  # again: evidence that has grown old since no longer passes
    shown = stored if verdict.outcome == stored.outcome else verdict  # the page of the same verdict is made once
    page = show_verdict(shown.model_dump(mode="json"), outcome["attempt"])
    if verdict.outcome == "fail":
        raise GateClosed("Refused", verdict.summary)
    patience = run.settings.gate
    question = run.decisions.ask(
        Question(
            run_id=run.run_id,
            gate=verdict.gate.name,
            attempt=outcome["attempt"],
            verdict=verdict,
            model_hash=outcome["model_hash"],
            opened_at=now,
            remind_at=now + timedelta(hours=patience.remind_hours),
            expires_at=now + timedelta(hours=patience.expire_hours),
            waker=run.flow_run_id,
        )
    )
    return run.decisions.decision(question) or _ask(run, question, page)


def _ask(run: Run, question: Question, page: str) -> Decision:
    match run.approval:
        case "person":
            return _suspend_and_ask(run, question, page)
        case "prompt":
            return run.decisions.decide(_prompt(question))
        case "auto":
            return run.decisions.decide(_automatic(question))


def _prompt(question: Question) -> Decision:
    try:
        return ask_in_terminal(question)
    except WaitingForPerson as waiting:
        raise GateClosed("Waiting", str(waiting)) from None


def _automatic(question: Question) -> Decision:
    choice = "approve" if question.verdict.outcome == "pass" else "reject"
    return Decision(
        run_id=question.run_id,
        gate=question.gate,
        evidence_hash=question.evidence_hash,
        choice=choice,
        who="auto",
        why=f"asked for with approval auto; the verdict is {question.verdict.outcome}",
        decided_at=SystemClock().now(),
        through="auto",
    )


def _suspend_and_ask(run: Run, question: Question, page: str) -> Decision:
    """Suspend until the form is sent; an answer that does not count is told, and the form put again."""
    logger = get_run_logger()
    ui = PREFECT_UI_URL.value()
    form = form_for(question, f"{ui}{page}" if ui else None)
    left = question.expires_at - SystemClock().now()
    for asked in count(1):
        # The retry of a gate that timed out must not find the old form answered with its defaults.
        key = f"{question.gate}-{question.attempt}-{flow_run.run_count}-{asked}"
        answer = suspend_flow_run(wait_for_input=form, timeout=max(1, int(left.total_seconds())), key=key)
        if decided := run.decisions.decision(question):
            return decided
        try:
            fields = read_answer(question, answer)
            return run.decisions.decide(
                Decision(
                    run_id=question.run_id,
                    gate=question.gate,
                    decided_at=SystemClock().now(),
                    through="form",
                    **fields,
                )
            )
        except (Refused, ValidationError) as problem:
            logger.warning("the answer given at gate %s does not count, it is asked again: %s", question.gate, problem)
    raise AssertionError("count does not end")
