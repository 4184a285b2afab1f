"""A gate asked in the terminal where the pipeline runs."""

import getpass
import sys

import typer

from gaelp.cli.output import say, show_table
from gaelp.clock import SystemClock
from gaelp.errors import WaitingForPerson
from gaelp.gates import as_rows
from gaelp.gates.decisions import GateChoice, GateDecision, GateQuestion

__all__ = ["ask_in_terminal"]

_COLUMNS = ("rule", "outcome", "compared", "threshold")


def ask_in_terminal(question: GateQuestion) -> GateDecision:
    """Show the verdict and ask; where nobody can answer, say how to decide later."""
    if not sys.stdin.isatty():
        raise WaitingForPerson(
            f"run {question.run_id} waits at gate {question.gate}, and nobody can be asked here:"
            f" `gaelp gate approve {question.run_id} --verdict {question.code} --why WHY`, then"
            f" `gaelp resume {question.run_id}`"
        )
    rows = [[row[column] for column in _COLUMNS] for row in as_rows(question.verdict)]
    show_table(_COLUMNS, rows)
    say(question.verdict.summary)
    choice = _choice(question)
    who = typer.prompt("Your name", default=getpass.getuser(), err=True)
    why = typer.prompt("Why", err=True)
    return GateDecision(
        run_id=question.run_id,
        gate=question.gate,
        evidence_hash=question.evidence_hash,
        choice=choice,
        who=who,
        why=why,
        decided_at=SystemClock().now(),
        through="prompt",
    )


def _choice(question: GateQuestion) -> GateChoice:
    while True:
        typed = typer.prompt(f"{', '.join(question.choices)}?", default="reject", err=True).strip().lower()
        for choice in question.choices:
            if typed == choice:
                return choice
        typer.echo(f"{typed!r} is not one of {', '.join(question.choices)}", err=True)
