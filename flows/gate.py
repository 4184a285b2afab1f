"""A gate in the flow: the automatic verdict first, then a person's decision, looked up in our own record.

Prefect suspends the run while it waits; whether the run continues is decided by the record alone. The verdict is
computed again each time the run reaches the gate, and the computed one counts, whatever was stored or shown before.
"""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NoReturn

from prefect import suspend_flow_run
from prefect.logging import get_run_logger
from prefect.settings import PREFECT_UI_URL
from pydantic import ValidationError

from flows.answers import answers_to, pause_key
from flows.forms import form_for, read_answer
from flows.long_phases import in_own_deployment
from flows.prompt import ask_in_terminal
from flows.run import GateClosed, Run
from gaelp.clock import SystemClock
from gaelp.errors import GaelpError, Refused, WaitingForPerson
from gaelp.gates import judge
from gaelp.gates.decisions import CODE_LENGTH, GateDecision, GateQuestion, rejection_text
from gaelp.gates.verdict_context import VerdictContext
from gaelp.gates.verdict_table import failed_text
from gaelp.phases.declaration import PhaseDeclaration, check_model
from gaelp.phases.gate_answers import answer_problem
from gaelp.phases.gate_questions import find_decision, judging_time, question_about, questions_about
from gaelp.phases.looks import looks_so_far
from gaelp.phases.phase_result import PhaseResult, read_result
from tasks.phases import do_phase
from tasks.progress import announce, screen_paused
from tasks.verdicts import show_verdict

__all__ = ["pass_gate", "pass_gates"]


def pass_gates(run: Run, phases: Sequence[PhaseDeclaration]) -> list[PhaseResult]:
    """Take an agent through the phases, each behind its gate; GateClosed where the run ends at one."""
    passed: list[PhaseResult] = []
    for declared in phases:
        passed.append(pass_gate(run, declared, passed[-1] if passed else None))
        declared.on_passed(run.settings, tuple(passed), SystemClock())
    return passed


def pass_gate(run: Run, declared: PhaseDeclaration, previous: PhaseResult | None) -> PhaseResult:
    """Carry out a phase on the result of the one before, and take it through its gate."""
    for attempt in range(1, declared.attempts_max + 1):
        result = _result(run, declared, attempt, previous)
        decision = _decided(run, declared, result)
        if decision.choice == "reject":
            raise GateClosed("Rejected", rejection_text(decision))
        get_run_logger().info("gate %s: %s by %s: %s", decision.gate, decision.choice, decision.who, decision.why)
        if decision.choice == "approve":
            return result
    raise GateClosed(
        "Rejected", f"rejected after {declared.attempts_max} attempts, the most allowed: no further rerun is made"
    )


def _result(run: Run, declared: PhaseDeclaration, attempt: int, previous: PhaseResult | None) -> PhaseResult:
    """What an attempt proved, extended where its data do not settle the gate and the phase says so."""
    for extension in range(declared.extensions_max + 1):
        result = _carried_out(run, declared, attempt, extension, previous)
        if result.verdict.outcome != "inconclusive":
            break
    return result


def _carried_out(
    run: Run, declared: PhaseDeclaration, attempt: int, extension: int, previous: PhaseResult | None
) -> PhaseResult:
    if declared.long_running and run.is_deployed:
        return in_own_deployment(run, declared, attempt, extension, previous)
    assign = run.assign(declared, attempt, previous)
    return read_result(
        Path(do_phase(declared.phase.value, run.run_id, attempt, extension, declared=declared, assign=assign))
    )


def _decided(run: Run, declared: PhaseDeclaration, result: PhaseResult) -> GateDecision:
    """The decision on a result; GateClosed where there is nothing to decide."""
    history = questions_about(run.decisions, result)
    # First of all: an accepted answer is recorded whatever follows.
    notice = _record_answers(run, history[-1]) if history else ""
    announce(f"judging gate {result.verdict.gate.name}")
    now = SystemClock().now()
    verdict = judge(result.verdict.gate, result.verdict.evidence, judging_time(run.folder, run.decisions, result, now))
    looks = looks_so_far(run.settings, result)
    code = verdict.evidence_hash[:CODE_LENGTH]
    context = declared.context(result, run.settings.home)
    is_refused = verdict.outcome == "fail" or (verdict.outcome == "inconclusive" and declared.inconclusive == "refuse")
    computed = question_about(declared, result, verdict, now, run.settings.gate)
    expires = "" if is_refused else _expiry(history, computed, now)
    page = show_verdict(code, verdict.outcome, result.attempt, looks, expires, verdict=verdict, context=context)
    if is_refused:
        raise GateClosed("Refused", f"{failed_text(verdict)} `gaelp gate show {run.run_id}` shows every rule")
    check_model(declared, result, result.model_hash, run.settings.home)
    computed = computed.model_copy(update={"looks": looks, "waker": run.flow_run_id})
    decision = find_decision(run.decisions, computed) or _asked(run, computed, page, context, notice)
    if decision.choice == "approve":
        check_model(declared, result, computed.model_hash, run.settings.home)
    return decision


def _expiry(history: Sequence[GateQuestion], computed: GateQuestion, now: datetime) -> str:
    """Until when the question can be answered: that of the open one, or of the one that will be asked."""
    open_question = history[-1] if history and history[-1].expires_at > now else computed
    return f"{open_question.expires_at:%Y-%m-%d %H:%M} UTC; after that, `gaelp resume {computed.run_id}` asks again"


def _asked(run: Run, computed: GateQuestion, page: str, context: VerdictContext, notice: str) -> GateDecision:
    """Ask, then look up in the record what was decided."""
    _ask(run, run.decisions.ask(computed), page, context, notice)
    decision = find_decision(run.decisions, computed)
    if decision is None:
        raise Refused(f"gate {computed.gate} of run {computed.run_id}: no decision is on record, so the run ends here")
    return decision


def _ask(run: Run, question: GateQuestion, page: str, context: VerdictContext, notice: str) -> None:
    match run.approval:
        case "person":
            _suspend_and_ask(run, question, page, context, notice)
        case "prompt":
            _prompt(run, question, context.progress)
        case "auto":
            run.decisions.decide(_automatic(question))


def _prompt(run: Run, question: GateQuestion, progress: str) -> None:
    """Ask in this terminal; the run is held meanwhile, so that no second process resumes it."""
    try:
        with run.folder.held(), screen_paused():
            ask_in_terminal(question, run.decisions, progress)
    except WaitingForPerson as waiting:
        raise GateClosed("Waiting", str(waiting)) from None


def _automatic(question: GateQuestion) -> GateDecision:
    choice = "approve" if question.verdict.outcome == "pass" else "reject"
    return GateDecision(
        run_id=question.run_id,
        gate=question.gate,
        evidence_hash=question.evidence_hash,
        choice=choice,
        who="auto",
        why=f"asked for with approval auto; the verdict is {question.verdict.outcome}",
        decided_at=SystemClock().now(),
        through="auto",
    )


def _suspend_and_ask(run: Run, question: GateQuestion, page: str, context: VerdictContext, notice: str) -> NoReturn:
    """Suspend until the form is sent; the flow then runs again from the top and finds the answer.

    The pause key names the question and how often it was asked, never how often the flow was started: an answer is
    found by whatever process comes next, also after a crash between its arrival and our record.
    """
    ui = PREFECT_UI_URL.value()
    form = form_for(question, f"{ui}{page}" if ui else None, context, notice)
    left = question.expires_at - SystemClock().now()
    key = pause_key(run.flow_run_id, question)
    get_run_logger().info(
        "run %s waits at gate %s for a person: Resume in the UI, or `gaelp gate show %s`",
        run.run_id,
        question.gate,
        run.run_id,
    )
    suspend_flow_run(wait_for_input=form, timeout=max(1, int(left.total_seconds())), key=key)
    raise GaelpError(f"the server did not suspend run {run.run_id} under {key}: `gaelp resume {run.run_id}` asks again")


def _record_answers(run: Run, question: GateQuestion) -> str:
    """Record the first answer to this question that counts, with the time at which the server accepted it.

    Return why the last answer does not count, empty where one counts or none was given.
    """
    if run.approval != "person" or run.decisions.decision(question):
        return ""
    problem = ""
    for answer in answers_to(run.flow_run_id, question):
        try:
            run.decisions.decide(
                GateDecision(
                    run_id=question.run_id,
                    gate=question.gate,
                    decided_at=max(answer.accepted_at, question.opened_at),
                    through="form",
                    **read_answer(question, answer.fields),
                )
            )
        except (Refused, ValidationError) as refused:
            problem = answer_problem(refused)
        else:
            return ""
    if problem:
        get_run_logger().warning("gate %s asks again, the last answer does not count: %s", question.gate, problem)
    return problem
