"""What `gaelp gate` does: show the gates that wait, record a decision, and resume the run."""

import getpass
from pathlib import Path
from typing import Any

import typer
from pydantic import ValidationError

from flows.connection import NoServer, connect
from gaelp.approvals import SigningKey
from gaelp.cli.output import say, show_json, show_paragraph, show_table, show_text
from gaelp.clock import Clock, SystemClock
from gaelp.config import Settings
from gaelp.config.environment import process_environment
from gaelp.errors import BadInput, WaitingForPerson
from gaelp.gates import Verdict, as_rows
from gaelp.gates.decision_store import DecisionStore
from gaelp.gates.decisions import (
    CODE_LENGTH,
    GateChoice,
    GateDecision,
    GateQuestion,
    question_status,
    rejection_text,
)
from gaelp.gates.verdict_context import VerdictContext
from gaelp.gates.verdict_table import decision_text
from gaelp.phases.declared import declaration_of
from gaelp.phases.gate_answers import answer_problem, approvals_of_run, check_answer
from gaelp.phases.gate_approval import GateApprovals, gate_approvals
from gaelp.phases.looks import look_text
from gaelp.phases.phase_result import PhaseResult
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.runs import RunRecord, find_run, note_end, phases_done, read_end
from gaelp.types import RunId

__all__ = ["decide", "list_waiting", "show_commands", "show_gate"]

_NEXT: dict[GateChoice, str] = {
    "approve": "the run resumes",
    "reject": "the run ends as Rejected within a minute",
    "rerun": "the run repeats the phase",
}


def list_waiting(settings: Settings, *, as_json: bool) -> None:
    """Every gate that waits for a person, and the commands to begin with."""
    questions = gate_approvals(settings).decisions().open_questions()
    if as_json:
        show_json([_plain(question) for question in questions])
        return
    if not questions:
        show_text("No gate waits for a person.")
        return
    now = SystemClock().now()
    show_table(
        ("run", "gate", "verdict", "code", "waits", "expires (UTC)"),
        [
            (
                question.run_id,
                question.gate,
                question.verdict.outcome,
                question.code,
                question_status(question, now),
                f"{question.expires_at:%m-%d %H:%M}",
            )
            for question in questions
        ],
    )
    show_commands(questions[0])


def show_commands(question: GateQuestion) -> None:
    """The commands to look at a verdict and to decide on it."""
    show_text(f"  gaelp gate show {question.run_id}")
    show_text(f"  gaelp gate {question.choices[0]} {question.run_id} --verdict {question.code} --why 'WHY'")


def show_gate(settings: Settings, run: str, *, as_json: bool) -> None:
    """What the latest gate of a run says, rule by rule, and what was decided before."""
    find_run(settings.home, run)
    history = gate_approvals(settings).decisions().history(run)
    results = phases_done(settings.home, run)
    if not (history or results):
        raise BadInput(f"run {run} has not reached a gate yet: `gaelp status {run}` shows how far it is")
    verdict = history[-1][0].verdict if history else results[-1].verdict
    if as_json:
        show_json(_as_json(*history[-1]) if history else {"run_id": run, "verdict": verdict.model_dump(mode="json")})
        return
    _show_verdict(verdict, _context(results[-1], settings.home) if results else VerdictContext())
    if not history:
        why = "the gate refused it" if verdict.outcome == "fail" else "the run does not wait at a gate"
        show_paragraph(f"Nobody is asked: {why}.")
        return
    question, _ = history[-1]
    show_text(f"gate {question.gate}, attempt {question.attempt}, code {question.code}, {look_text(question.looks)}")
    for asked, answer in history:
        if answer is not None:
            when = f"{answer.decided_at:%Y-%m-%d %H:%M:%S} UTC"
            show_paragraph(f"{when} {answer.who}: {answer.choice} {asked.code} ({answer.why})", indent="  ")


def _as_json(question: GateQuestion, decision: GateDecision | None) -> dict[str, Any]:
    return _plain(question) | {"decision": decision.model_dump(mode="json") if decision else None}


def _show_verdict(verdict: Verdict, context: VerdictContext) -> None:
    rows = as_rows(verdict)
    columns = ("rule", "outcome", "value", "compared", "threshold", "sample")
    show_table(columns, [[row[column] for column in columns] for row in rows])
    show_text("")
    for row in rows:
        show_paragraph(f"{row['rule']}: {row['why']}", indent="  ")
    show_text("")
    for label, text in context.stored_data:
        show_paragraph(f"{label}: {text}", indent="  ")
    for line in decision_text(verdict, context.progress):
        show_paragraph(line)
    if file := verdict.gate.file:
        show_text(f"rules: {file.text}")


def _context(result: PhaseResult, home: Path) -> VerdictContext:
    """What a person wants to know beside the verdict."""
    return declaration_of(result.phase).context(result, home)


def decide(
    settings: Settings, choice: GateChoice, run: str, *, code: str, why: str, who: str | None, key: SigningKey | None
) -> None:
    """Record what a person decided on the verdict they name, signed if they give a key; then resume the run."""
    approvals = approvals_of_run(settings, run)
    store = approvals.decisions()
    _check_complete(settings.home, store, run, code, why)
    question = _question(settings.home, store, run, code)
    clock = SystemClock()
    decision = check_answer(store, question, choice, clock.now())  # before anything is signed or used up
    if decision is None:
        signed = _signed(approvals, question, choice, why=why, who=who, key=key, clock=clock)
        if signed is None:
            raise typer.Exit(WaitingForPerson.exit_code)
        decision = store.decide(signed)
        how = "recorded"
    else:
        how = f"was recorded at {decision.decided_at:%Y-%m-%d %H:%M:%S} UTC already"
    show_paragraph(f"{decision.choice} {how} for gate {decision.gate} of run {decision.run_id}, by {decision.who}")
    _wake(settings.home, question, decision)


def _signed(
    approvals: GateApprovals,
    question: GateQuestion,
    choice: GateChoice,
    *,
    why: str,
    who: str | None,
    key: SigningKey | None,
    clock: Clock,
) -> GateDecision | None:
    """The decision with its signatures; None while more people have to sign, and who they are is shown."""
    decision = _decision(
        run_id=question.run_id,
        gate=question.gate,
        evidence_hash=question.evidence_hash,
        choice=choice,
        who=key.name if key else who or getpass.getuser(),
        why=why,
        decided_at=clock.now(),
        through="command",
    )
    if key is None or choice == "rerun":
        return decision
    signatures = approvals.add_signature(question, key, choice, why, clock)
    if not signatures:
        recorded = f"signature of {key.name} recorded for gate {question.gate} of run {question.run_id}"
        show_paragraph(f"{recorded}. {approvals.describe_missing(question, clock)}")
        show_text(f"they run: gaelp gate approve {question.run_id} --verdict {question.code} --key FILE --why WHY")
        return None
    return decision.model_copy(update={"decided_at": clock.now(), "signatures": signatures})


def _decision(**fields: Any) -> GateDecision:
    try:
        return GateDecision(**fields)
    except ValidationError as problem:
        raise BadInput(f"--{answer_problem(problem)}") from None


def _check_complete(home: Path, store: DecisionStore, run: str, code: str, why: str) -> None:
    """Refuse a decision without code or reason; that the run does not exist is said first."""
    find_run(home, run)
    waiting = store.open_questions(run_id=run)
    if not waiting and not code:
        raise BadInput(f"run {run} does not wait at a gate: `gaelp status {run}` shows its state")
    if not code:
        raise BadInput(
            f"--verdict is missing: name the verdict that you looked at. `gaelp gate show {run}` shows it with its code"
        )
    if not why.strip():
        raise BadInput("--why is missing: give the reason, for whoever asks later")


def _question(home: Path, store: DecisionStore, run: str, code: str) -> GateQuestion:
    find_run(home, run)
    for question, _ in reversed(store.history(run)):
        if len(code) >= CODE_LENGTH and question.evidence_hash.startswith(code):
            return question
    known = ", ".join(question.code for question in store.open_questions(run_id=run)) or "none"
    raise BadInput(
        f"run {run} has no verdict with the code {code!r}; it waits for a decision on: {known}. `gaelp gate show {run}`"
        " shows it"
    )


def _wake(home: Path, question: GateQuestion, decision: GateDecision) -> None:
    """Resume the run if it is suspended on a server, or say what resumes it."""
    record, folder = find_run(home, question.run_id), RunFolder(home, RunId(question.run_id))
    if (end := read_end(folder)) is not None and end.is_final:
        say(f"run {question.run_id} has ended ({end.text}): nothing is left to do")
    elif record.driver != "deployment":
        _end_or_resume_here(folder, decision)
    else:
        _wake_on_server(home, record, decision)


def _end_or_resume_here(folder: RunFolder, decision: GateDecision) -> None:
    """A run of a terminal: its process acts on the decision; without one, a rejected run ends now."""
    process = folder.holder()
    if process:
        does = "ends" if decision.choice == "reject" else "resumes"
        say(f"process {process}, which waits in its terminal, {does} the run")
    elif decision.choice == "reject":
        note_end(folder, "Rejected", rejection_text(decision), SystemClock())
        say(f"run {decision.run_id} has ended as Rejected: nothing is left to do")
    else:
        say(f"`gaelp resume {decision.run_id}` resumes the run")


def _wake_on_server(home: Path, record: RunRecord, decision: GateDecision) -> None:
    try:
        connect(home, process_environment())
    except NoServer:
        say("its server is down: the run resumes when `gaelp up` runs")
        return
    from flows.flow_runs import is_suspended, wake  # noqa: PLC0415 - Prefect reads the environment when imported

    if not is_suspended(record.driver_id):
        say(f"the run is not suspended: `gaelp status {record.run_id}` shows its state")
        return
    wake(record.driver_id, decision)
    say(f"{_NEXT[decision.choice]}: `gaelp status {record.run_id}` shows its state")


def _plain(question: GateQuestion) -> dict[str, object]:
    return question.model_dump(mode="json") | {"code": question.code, "choices": list(question.choices)}
