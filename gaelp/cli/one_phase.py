"""One phase of a run in this terminal: find what it follows, do its work with progress, show what it proved."""

from gaelp.cli.output import show_json
from gaelp.cli.phase_tables import show_phase
from gaelp.cli.training_progress import shown_progress
from gaelp.clock import SystemClock
from gaelp.config import Settings
from gaelp.errors import BadInput, Refused
from gaelp.phases.declaration import Assignment, PhaseDeclaration, carry_out
from gaelp.phases.phase_result import PhaseResult, read_result
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.runs import all_runs, phases_done
from gaelp.types import Phase, RunId

__all__ = ["passed_before", "work_on_phase"]


def passed_before(settings: Settings, run: str | None, phase: Phase, *, why: str, first: str) -> PhaseResult:
    """The last judged attempt at a phase of a run, or of the newest run that has one; Refused unless its gate passed.

    `why` says why only a passed agent goes on, `first` what to do where there is none.
    """
    names = [run] if run else [record.run_id for record in reversed(all_runs(settings.home))]
    for name in names:
        done = [result for result in phases_done(settings.home, name) if result.phase is phase]
        if not done:
            continue
        if done[-1].verdict.outcome != "pass":
            raise Refused(f"run {name}: gate {phase} says {done[-1].verdict.outcome}; {why}. Name another --run")
        return done[-1]
    raise BadInput(f"{first}, or name its --run")


def work_on_phase(settings: Settings, declared: PhaseDeclaration, previous: PhaseResult, *, as_json: bool) -> None:
    """Carry out the first attempt at a phase and print what it proved."""
    folder = RunFolder(settings.home, RunId(previous.run_id)).phase(declared.phase)
    with shown_progress() as screen, folder.run.held():
        path = carry_out(
            declared,
            Assignment(
                settings=settings,
                folder=folder,
                gate=declared.load_gate(settings.gate),
                previous=previous,
                clock=SystemClock(),
                on_report=screen.report,
            ),
        )
    result = read_result(path)
    if as_json:
        show_json(result.model_dump(mode="json"))
    else:
        show_phase(result)
