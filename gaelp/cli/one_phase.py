"""One phase of a run in this terminal: find what it follows, do its work with progress, show what it proved."""

from pathlib import Path

from gaelp.cli.output import say, show_json
from gaelp.cli.phase_tables import show_phase
from gaelp.cli.training_progress import shown_progress
from gaelp.clock import SystemClock
from gaelp.config import Settings
from gaelp.config.places import shown
from gaelp.config.write import write_texts
from gaelp.errors import BadInput, Refused
from gaelp.phases.declaration import Assignment, PhaseDeclaration, carry_out
from gaelp.phases.phase_result import PhaseResult, read_result
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.runs import all_runs, phases_done
from gaelp.types import Phase, RunId

__all__ = ["passed_before", "work_on_phase"]


def passed_before(settings: Settings, run: str | None, phase: Phase, *, why: str, first: str) -> PhaseResult:
    """The last judged attempt at a phase of a run, or of the newest run that has one; Refused unless its gate passed.

    `why` says why only a passed agent may continue, `first` what to do where there is none.
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
    page = _write_page(declared, result, settings)
    if as_json:
        show_json(result.model_dump(mode="json"))
        return
    show_phase(result)
    say(f"the verdict as a page with plots: {shown(page)}")


def _write_page(declared: PhaseDeclaration, result: PhaseResult, settings: Settings) -> Path:
    """The page that the pipeline shows at the gate, as a file."""
    from gaelp.gates.verdict_page import verdict_html  # noqa: PLC0415 - matplotlib takes a second

    page = result.folder(settings.home).path / "verdict.html"
    write_texts({page: verdict_html(result.verdict, declared.context(result, settings.home))})
    return page
