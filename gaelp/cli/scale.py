"""`gaelp scale`: phase 4 in this terminal."""

from typing import Annotated

import typer

from gaelp.cli.one_phase import passed_before, work_on_phase
from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say
from gaelp.cli.startup import prepare_run
from gaelp.clock import SystemClock
from gaelp.phases.gate_approval import gate_approvals
from gaelp.phases.gate_questions import check_passed
from gaelp.phases.pilot_account import check_pilot
from gaelp.phases.pilot_declaration import PILOT
from gaelp.phases.scale_declaration import SCALE
from gaelp.types import Phase

__all__ = ["scale"]

RunOption = Annotated[
    str | None,
    typer.Option("--run", metavar="ID", help="The run whose agent is released.", show_default="the newest that passed"),
]


def scale(
    config: ConfigOption = None, run: RunOption = None, overrides: SetOption = None, as_json: JsonOption = False
) -> None:
    """Release an agent that passed gate 3 beside its control, step by step.

    - `gaelp scale --config quick-test`: on the local ad platform of its pilot, where days take seconds

    The agent first gets a few of the campaigns, then more, as long as nothing speaks against it; the incumbent, scaled
    down until its budget lasts, bids for the others. A worse agent is rolled back. Stopped or killed, it resumes where
    it was. Everything goes to runs/ID/scale/1 below the home. docs/scale.md explains the figures.
    """
    settings = prepare_run(config, overrides).settings
    check_pilot(settings)
    proven = passed_before(
        settings,
        run,
        Phase.PILOT,
        why="no agent gets more money before a pilot has shown its return",
        first="there is no agent that was piloted yet: run `gaelp pilot` first",
    )
    if not settings.pilot.local:
        clock = SystemClock()
        check_passed(PILOT, proven, gate_approvals(settings).decisions(), settings, clock.now())
    say(f"run {proven.run_id}: {proven.agent} beside its control")
    work_on_phase(settings, SCALE, proven, as_json=as_json)
