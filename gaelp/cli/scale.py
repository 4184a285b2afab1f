"""`gaelp scale`: phase 4 in this terminal, and the plan of it before anybody signs."""

from typing import Annotated

import typer

from gaelp.budget.platform_budget import load_platform_terms
from gaelp.cli.one_phase import passed_before, work_on_phase
from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, show_json, show_paragraph, show_table
from gaelp.cli.startup import prepare_run
from gaelp.cli.training_progress import shown_progress
from gaelp.clock import SystemClock
from gaelp.config import Settings
from gaelp.phases.gate_approval import gate_approvals
from gaelp.phases.gate_questions import check_passed
from gaelp.phases.phase_result import PhaseResult
from gaelp.phases.pilot_account import check_pilot
from gaelp.phases.pilot_declaration import PILOT
from gaelp.phases.scale_declaration import SCALE
from gaelp.phases.scale_preview import preview_release
from gaelp.pilot.local_account import LOCAL_PLATFORM
from gaelp.release.release_plan_text import release_plan_json, release_plan_sections
from gaelp.release.release_power import refuse_without_power
from gaelp.types import Phase

__all__ = ["app", "plan", "scale"]

app = typer.Typer(
    invoke_without_command=True, help="Release an agent that passed gate 3 beside its control, step by step."
)

ReleasedRunOption = Annotated[
    str | None,
    typer.Option("--run", metavar="ID", help="The run whose agent is released.", show_default="the newest that passed"),
]


@app.callback(invoke_without_command=True)
def scale(
    context: typer.Context,
    config: ConfigOption = None,
    run: ReleasedRunOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Release an agent that passed gate 3 beside its control, step by step.

    - `gaelp scale plan --config quick-test`: what could be spent, which steps it takes, and what it could show

    - `gaelp scale --config quick-test`: on the local ad platform of its pilot, where days take seconds

    The agent first gets a few of the campaigns, then more, as long as nothing speaks against it; the incumbent, scaled
    down until its budget lasts, bids for the others. A worse agent is rolled back. Stopped or killed, it resumes where
    it was. Everything goes to runs/ID/scale/1 below the home. docs/scale.md explains the figures.
    """
    if context.invoked_subcommand is not None:
        return
    settings = prepare_run(config, overrides).settings
    check_pilot(settings)
    proven = _proven(settings, run)
    if not settings.pilot.local:
        clock = SystemClock()
        check_passed(PILOT, proven, gate_approvals(settings).decisions(), settings, clock.now())
    say(f"run {proven.run_id}: {proven.agent} beside its control")
    work_on_phase(settings, SCALE, proven, as_json=as_json)


@app.command()
def plan(
    config: ConfigOption = None, run: ReleasedRunOption = None, overrides: SetOption = None, as_json: JsonOption = False
) -> None:
    """Show a release before anybody signs it: what it could cost, its steps, what ends it, what it can show.

    - `gaelp scale plan --config quick-test --set scale.days=120 --set scale.full_days=60`

    Nothing is stored or sent. It says how often a true lift of 0, 15, 30 and 50% would be promoted within its days, and
    names the size that is needed where its own is too small.
    """
    settings = prepare_run(config, overrides).settings
    check_pilot(settings)
    proven, gate = _proven(settings, run), SCALE.load_gate(settings.gate)
    with shown_progress() as screen:
        planned = preview_release(settings, proven, gate, SystemClock(), screen.report)
    terms = load_platform_terms().of(settings.platform.name or LOCAL_PLATFORM)
    if as_json:
        show_json(release_plan_json(planned.plan, terms, planned.ground, planned.power))
        return
    for section in release_plan_sections(planned.plan, terms, planned.ground, planned.power):
        show_paragraph(section.title)
        show_table(section.columns, section.rows)
        for sentence in section.below:
            show_paragraph(sentence)
    refuse_without_power(planned.power, planned.ground, gate, seed=settings.evaluation.seed)


def _proven(settings: Settings, run: str | None) -> PhaseResult:
    return passed_before(
        settings,
        run,
        Phase.PILOT,
        why="no agent gets more money before a pilot has shown its return",
        first="there is no agent that was piloted yet: run `gaelp pilot` first",
    )
