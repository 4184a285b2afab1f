"""`gaelp validate`: phase 2 in this terminal: is the market true to logged campaigns, and is the agent better?"""

from pathlib import Path
from typing import Annotated

import typer

from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, show_json
from gaelp.cli.phase_tables import show_phase
from gaelp.cli.startup import prepare_run
from gaelp.cli.training_progress import shown_progress
from gaelp.clock import SystemClock
from gaelp.config import Settings
from gaelp.config.places import shown
from gaelp.config.write import write_texts
from gaelp.errors import BadInput, Refused
from gaelp.phases.declaration import Assignment, carry_out
from gaelp.phases.history_declaration import HISTORY
from gaelp.phases.phase_result import PhaseResult, read_result
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.runs import all_runs, phases_done
from gaelp.types import Phase, RunId

__all__ = ["validate"]


def validate(
    config: ConfigOption = None,
    run: Annotated[
        str | None,
        typer.Option("--run", metavar="ID", help="The run whose agent is judged.", show_default="the newest trained"),
    ] = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Judge a trained agent on logged campaigns: fidelity of the market, then what the agent would have been worth.

    - `gaelp validate --config quick-test`: the newest agent, on a history that is made where there is none

    - `gaelp validate --run 20261116-020641-7f3a9c --set 'history.sources=["import-2026-10"]'`

    The last part of the history is sealed. This command takes one of the three looks at it; the same run gets the same
    look again. Everything goes to runs/ID/history/1 below the home, with the verdict as a page
    with plots (verdict.html). docs/history.md explains the figures.
    """
    settings = prepare_run(config, overrides).settings
    trained = _trained(settings, run)
    folder = RunFolder(settings.home, RunId(trained.run_id)).phase(Phase.HISTORY)
    say(f"run {trained.run_id}: {trained.agent} on logged campaigns")
    with shown_progress() as screen, folder.run.held():
        path = carry_out(
            HISTORY,
            Assignment(
                settings=settings,
                folder=folder,
                gate=HISTORY.load_gate(settings.gate),
                previous=trained,
                clock=SystemClock(),
                on_report=screen.report,
            ),
        )
    result = read_result(path)
    page = _write_page(result, settings)
    if as_json:
        show_json(result.model_dump(mode="json"))
        return
    show_phase(result)
    say(f"the verdict with plots of market and log: {shown(page)}")


def _write_page(result: PhaseResult, settings: Settings) -> Path:
    """The page that the pipeline shows at the gate, as a file."""
    from gaelp.gates.verdict_page import verdict_html  # noqa: PLC0415 - matplotlib takes a second

    page = result.folder(settings.home).path / "verdict.html"
    write_texts({page: verdict_html(result.verdict, HISTORY.context(result, settings.home))})
    return page


def _trained(settings: Settings, run: str | None) -> PhaseResult:
    """The last judged attempt at phase 1 of a run; Refused if its gate did not pass."""
    names = [run] if run else [record.run_id for record in reversed(all_runs(settings.home))]
    for name in names:
        done = [result for result in phases_done(settings.home, name) if result.phase is Phase.SIMULATION]
        if not done:
            continue
        if done[-1].verdict.outcome != "pass":
            raise Refused(
                f"run {name}: gate simulation says {done[-1].verdict.outcome}; an agent is judged on history after it"
                " passed, because a sealed window can be looked at three times only. Name another --run"
            )
        return done[-1]
    raise BadInput("there is no trained agent yet: run `gaelp train` first, or name its --run")
