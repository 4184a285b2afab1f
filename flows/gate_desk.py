"""What `gaelp gate` does: show the gates that wait, record a decision, and have the run go on."""

import getpass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from flows.connection import NoServer, connect
from gaelp.approvals import SigningKey
from gaelp.cli.output import say, show_json, show_table, show_text
from gaelp.clock import Clock, SystemClock
from gaelp.config import Settings
from gaelp.config.environment import process_environment
from gaelp.errors import BadInput, GaelpError, WaitingForPerson
from gaelp.gates import as_rows
from gaelp.gates.decision_store import DecisionStore
from gaelp.gates.decisions import CODE_LENGTH, GateChoice, GateDecision, GateQuestion, question_status
from gaelp.phases.gate_answers import approvals_of_run, check_answer
from gaelp.phases.gate_approval import GateApprovals, gate_approvals
from gaelp.phases.looks import look_text
from gaelp.phases.runs import find_run

__all__ = ["decide", "list_waiting", "show_gate"]


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
                one.run_id,
                one.gate,
                one.verdict.outcome,
                one.code,
                question_status(one, now),
                f"{one.expires_at:%m-%d %H:%M}",
            )
            for one in questions
        ],
    )
    first = questions[0]
    show_text(f"gaelp gate show {first.run_id}; gaelp gate approve {first.run_id} --verdict {first.code} --why 'WHY'")


def show_gate(settings: Settings, run: str, *, as_json: bool) -> None:
    """What the latest gate of a run says, rule by rule, and what was decided before."""
    find_run(settings.home, run)
    history = gate_approvals(settings).decisions().history(run)
    if not history:
        raise BadInput(f"run {run} has not reached a gate yet: `gaelp status {run}` shows how far it is")
    question, decision = history[-1]
    if as_json:
        show_json(_plain(question) | {"decision": decision.model_dump(mode="json") if decision else None})
        return
    rows = as_rows(question.verdict)
    columns = ("rule", "outcome", "value", "compared", "threshold", "sample", "why")
    show_table(columns, [[row[column] for column in columns] for row in rows])
    show_text(question.verdict.summary)
    show_text(f"gate {question.gate}, attempt {question.attempt}, code {question.code}, {look_text(question.looks)}")
    if file := question.verdict.gate.file:
        show_text(f"rules: {file.text}")
    for asked, answer in history:
        if answer is not None:
            show_text(
                f"{answer.decided_at:%Y-%m-%d %H:%M:%S} UTC {answer.who}: {answer.choice} {asked.code} ({answer.why})"
            )


def decide(
    settings: Settings, choice: GateChoice, run: str, *, code: str, why: str, who: str | None, key: SigningKey | None
) -> None:
    """Record what a person decided on the verdict they name, signed if they give a key; then have the run go on."""
    approvals = approvals_of_run(settings, run)
    store = approvals.decisions()
    question = _question(settings.home, store, run, code)
    clock = SystemClock()
    decision = check_answer(store, question, choice, clock.now())  # before anything is signed or used up
    if decision is None:
        decision = store.decide(_signed(approvals, question, choice, why=why, who=who, key=key, clock=clock))
        how = "recorded"
    else:
        how = f"was recorded at {decision.decided_at:%Y-%m-%d %H:%M:%S} UTC already"
    show_text(f"{decision.choice} {how} for gate {decision.gate} of run {decision.run_id}, by {decision.who}")
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
) -> GateDecision:
    """The decision, with the signatures that carry it once there are enough; WaitingForPerson while there are not."""
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
        raise WaitingForPerson(
            f"The signature of {key.name} is recorded, and more are needed: others approve with"
            f" `gaelp gate approve {question.run_id} --verdict {question.code} --key FILE --why WHY`."
            f" {approvals.describe_missing(question, clock)}"
        )
    return decision.model_copy(update={"decided_at": clock.now(), "signatures": signatures})


def _decision(**fields: Any) -> GateDecision:
    try:
        return GateDecision(**fields)
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        raise BadInput(f"--{first['loc'][0]}: {first['msg'].removeprefix('Value error, ')}") from None


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
    """Have the run go on, if it is suspended on a server; one in a terminal is gone on with by hand."""
    record = find_run(home, question.run_id)
    if record.driver == "terminal":
        say(f"`gaelp resume {question.run_id}` goes on with the run")
        return
    try:
        connect(home, process_environment())
    except NoServer as problem:
        raise GaelpError(f"the decision is recorded, but {problem}; then give the same command again") from None
    from flows.flow_runs import is_suspended, wake  # noqa: PLC0415 - Prefect reads the environment when imported

    if not is_suspended(record.driver_id):
        say(f"the run is not suspended; `gaelp status {question.run_id}` tells how it stands")
        return
    wake(record.driver_id, decision)
    say("the run goes on")


def _plain(question: GateQuestion) -> dict[str, object]:
    return question.model_dump(mode="json") | {"code": question.code, "choices": list(question.choices)}
