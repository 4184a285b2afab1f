"""A gate asked in the terminal where the pipeline runs; an answer recorded elsewhere ends the question too."""

import getpass
import select
import sys
import termios
from collections.abc import Callable

from pydantic import ValidationError

from gaelp.cli.output import columns_of, say, say_table, wrapped
from gaelp.clock import SystemClock
from gaelp.errors import Refused, WaitingForPerson
from gaelp.gates import as_rows
from gaelp.gates.approval_effect import answer_effects
from gaelp.gates.decision_store import DecisionStore
from gaelp.gates.decisions import GateDecision, GateQuestion, question_status
from gaelp.gates.verdict_table import decision_text
from gaelp.phases.gate_answers import answer_problem
from gaelp.phases.looks import look_text

__all__ = ["ask_in_terminal"]

_COLUMNS = ("rule", "outcome", "compared", "threshold")
_LOOK_EVERY_S = 1.0
_THROUGH = {
    "command": "`gaelp gate`",
    "form": "the form in the UI",
    "prompt": "another terminal",
    "auto": "--approve auto",
}


class _DecidedElsewhereError(Exception):
    """Somebody recorded a decision while the question was shown here."""

    def __init__(self, decision: GateDecision) -> None:
        super().__init__()
        self.decision = decision


def ask_in_terminal(question: GateQuestion, store: DecisionStore, progress: str = "") -> GateDecision:
    """Show the verdict, ask, and record the answer; WaitingForPerson where nobody answers here."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise WaitingForPerson(f"nobody can be asked here, so {_decide_later(question)}")
    _show(question, progress)
    try:
        while True:
            try:
                decision = store.decide(_answer(question, lambda: store.decision(question)))
            except (Refused, ValidationError) as problem:
                if question_status(question, SystemClock().now()) == "expired":
                    raise
                _say(answer_problem(problem))
            else:
                say(f"{decision.choice} recorded for gate {decision.gate}, by {decision.who}")
                return decision
    except _DecidedElsewhereError as elsewhere:
        decision = elsewhere.decision
        say("")
        _say(f"{decision.who} decided by {_THROUGH[decision.through]}: {decision.choice} ({decision.why})")
        return decision
    except (KeyboardInterrupt, EOFError):
        say("")
        raise WaitingForPerson(f"nothing was decided: {_decide_later(question)}") from None


def _decide_later(question: GateQuestion) -> str:
    run = question.run_id
    return (
        f"run {run} waits at gate {question.gate}. Decide later:\n"
        f"  gaelp gate show {run}\n"
        f"  gaelp gate {question.choices[0]} {run} --verdict {question.code} --why WHY\n"
        f"  gaelp resume {run}"
    )


def _show(question: GateQuestion, progress: str) -> None:
    say(f"\nGate {question.gate} of run {question.run_id}, attempt {question.attempt}, verdict {question.code}\n")
    say_table(_COLUMNS, [[row[column] for column in _COLUMNS] for row in as_rows(question.verdict)])
    lines = [*decision_text(question.verdict, progress), f"It is {look_text(question.looks)}."]
    _say("\n" + "\n".join(lines))
    say(f"\nThe reason for each rule: gaelp gate show {question.run_id}")
    effects = answer_effects(question.choices)
    _say(f"{effects[0].upper()}{effects[1:]}.")
    _say("Ctrl-C leaves the run waiting; `gaelp gate` answers it from elsewhere.")


def _answer(question: GateQuestion, decided: Callable[[], GateDecision | None]) -> GateDecision:
    """What the person at the terminal types; Enter alone decides nothing."""
    termios.tcflush(sys.stdin, termios.TCIFLUSH)  # whatever was typed before the question was shown answers nothing
    *others, last = question.choices
    offered = f"{', '.join(others)} or {last}" if others else last
    choice = _typed(f"{offered}? ", decided)
    while choice not in question.choices:
        say(f"{choice!r} is not one of the answers" if choice else "Nothing is decided yet: type the whole word.")
        choice = _typed(f"{offered}? ", decided)
    user = getpass.getuser()
    who = _typed(f"Your name [{user}]: ", decided) or user
    why = ""
    while not why:
        why = _typed("Why: ", decided)
    return GateDecision.model_validate(
        {
            "run_id": question.run_id,
            "gate": question.gate,
            "evidence_hash": question.evidence_hash,
            "choice": choice,
            "who": who,
            "why": why,
            "decided_at": SystemClock().now(),
            "through": "prompt",
        }
    )


def _typed(prompt: str, decided: Callable[[], GateDecision | None]) -> str:
    """One line from the terminal; meanwhile the record is looked up every second."""
    sys.stderr.write(prompt)
    sys.stderr.flush()
    while not select.select([sys.stdin], [], [], _LOOK_EVERY_S)[0]:
        if (decision := decided()) is not None:
            raise _DecidedElsewhereError(decision)
    line = sys.stdin.readline()
    if not line:  # Ctrl-D
        raise EOFError
    return line.strip()


def _say(text: str) -> None:
    say(wrapped(text, columns_of(sys.stderr)))
