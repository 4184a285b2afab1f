"""`gaelp pilot`: phase 3 in this terminal, and the plan of it before anybody signs."""

from typing import Annotated

import typer

from gaelp.budget.platform_budget import load_platform_terms
from gaelp.cli.one_phase import passed_before, work_on_phase
from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, show_json, show_paragraph, show_table
from gaelp.cli.startup import prepare_reading, prepare_run
from gaelp.cli.training_progress import shown_progress
from gaelp.clock import SystemClock
from gaelp.config import Settings
from gaelp.config.machine_user import machine_user
from gaelp.phases.gate_approval import gate_approvals
from gaelp.phases.gate_questions import check_passed
from gaelp.phases.history_declaration import HISTORY
from gaelp.phases.phase_result import PhaseResult
from gaelp.phases.pilot_account import check_pilot
from gaelp.phases.pilot_declaration import PILOT
from gaelp.phases.pilot_preview import preview_plan
from gaelp.pilot.held_campaigns import Release, release_campaign
from gaelp.pilot.local_account import LOCAL_PLATFORM
from gaelp.pilot.plan_text import plan_json, plan_sections
from gaelp.pilot.stops import STOPS
from gaelp.types import Phase

__all__ = ["app", "pilot", "plan", "release"]

app = typer.Typer(invoke_without_command=True, help="A small budget on an ad platform: plan it, run it.")

RunOption = Annotated[
    str | None,
    typer.Option("--run", metavar="ID", help="The run whose agent spends.", show_default="the newest that passed"),
]


@app.callback(invoke_without_command=True)
def pilot(
    context: typer.Context,
    config: ConfigOption = None,
    run: RunOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let an agent that passed gate 2 drive campaigns on a small budget, and judge what came of it.

    - `gaelp pilot plan --config quick-test`: what could be spent, what it should earn, and what it could show

    - `gaelp pilot --config quick-test`: on the local ad platform, where days take seconds and no real money moves

    Stopped or killed, it resumes where it was: no hour is decided twice, and no order is sent twice. Everything goes to
    runs/ID/pilot/1 below the home. docs/pilot.md explains the figures, docs/go-live.md the way to a real account.
    """
    if context.invoked_subcommand is not None:
        return
    settings = prepare_run(config, overrides).settings
    check_pilot(settings)
    proven = _proven(settings, run)
    if not settings.pilot.local:
        clock = SystemClock()
        check_passed(HISTORY, proven, gate_approvals(settings).decisions(), settings, clock.now())
    say(f"run {proven.run_id}: {proven.agent} with a small budget")
    work_on_phase(settings, PILOT, proven, as_json=as_json)


@app.command()
def plan(
    config: ConfigOption = None, run: RunOption = None, overrides: SetOption = None, as_json: JsonOption = False
) -> None:
    """Show a pilot before anybody signs it: what it could cost, what it should earn, what ends it, what it can show.

    - `gaelp pilot plan --config quick-test --set pilot.campaigns=12`

    Nothing is stored or sent. The phase itself refuses a plan that cannot tell a worthless agent from a good one.
    """
    settings = prepare_run(config, overrides).settings
    check_pilot(settings)
    proven = _proven(settings, run)
    with shown_progress() as screen:
        planned = preview_plan(settings, proven, PILOT.load_gate(settings.gate), SystemClock(), screen.report)
    terms = load_platform_terms().of(settings.platform.name or LOCAL_PLATFORM)
    if as_json:
        show_json(plan_json(planned.plan, terms, planned.expected, planned.power))
        return
    for section in plan_sections(planned.plan, terms, planned.expected, planned.power, stops=STOPS):
        show_paragraph(section.title)
        show_table(section.columns, section.rows)
        for sentence in section.below:
            show_paragraph(sentence)


@app.command()
def release(
    campaign: Annotated[str, typer.Argument(help="Its name on the platform, as `gaelp status RUN` shows it.")],
    reason: Annotated[str, typer.Option("--reason", help="Why it may run again; kept on record.")],
    run: Annotated[
        str | None, typer.Option("--run", metavar="ID", help="The run.", show_default="the one that holds it")
    ] = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a campaign run again that is held because somebody else changed it on the platform.

    - `gaelp pilot release gaelp-bread --reason "I raised its budget by mistake and set it back"`

    The pilot enables it in its next hour, with the budget and bids of its plan. The audit log records who did it.
    """
    settings = prepare_reading(config, overrides, in_home=True).settings
    asked = Release(campaign=campaign, by=machine_user(), reason=reason, pilot=run)
    pilot = release_campaign(settings, asked, SystemClock().now())
    if as_json:
        show_json({"campaign": campaign, "run": pilot, "by": asked.by, "reason": reason})
    else:
        say(f"{campaign} is released in run {pilot}: the pilot enables it in its next hour")


def _proven(settings: Settings, run: str | None) -> PhaseResult:
    return passed_before(
        settings,
        run,
        Phase.HISTORY,
        why="no agent spends money before it is proven better on logged campaigns",
        first="there is no agent that was judged on logged campaigns yet: run `gaelp validate` first",
    )
