"""`gaelp pilot`: phase 3 in this terminal, and the plan of it before anybody signs."""

from typing import Annotated

import typer

from gaelp.cli.one_phase import passed_before, work_on_phase
from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say
from gaelp.cli.startup import prepare_run
from gaelp.clock import SystemClock
from gaelp.config import Settings
from gaelp.phases.gate_approval import gate_approvals
from gaelp.phases.gate_questions import check_passed
from gaelp.phases.history_declaration import HISTORY
from gaelp.phases.phase_result import PhaseResult
from gaelp.phases.pilot_account import check_pilot
from gaelp.phases.pilot_declaration import PILOT
from gaelp.types import Phase

__all__ = ["app", "pilot", "plan"]

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


def _proven(settings: Settings, run: str | None) -> PhaseResult:
    return passed_before(
        settings,
        run,
        Phase.HISTORY,
        why="no agent spends money before it is proven better on logged campaigns",
        first="there is no agent that was judged on logged campaigns yet: run `gaelp validate` first",
    )
