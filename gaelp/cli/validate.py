"""`gaelp validate`: phase 2 in this terminal: is the market true to logged campaigns, and is the agent better?"""

from typing import Annotated

import typer

from gaelp.cli.one_phase import passed_before, work_on_phase
from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say
from gaelp.cli.startup import prepare_run
from gaelp.phases.history_declaration import HISTORY
from gaelp.types import Phase

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
    look again. Everything goes to runs/ID/history/1 below the home. docs/history.md explains the figures.
    """
    settings = prepare_run(config, overrides).settings
    trained = passed_before(
        settings,
        run,
        Phase.SIMULATION,
        why="an agent is judged on history after it passed, because a sealed window can be looked at three times only",
        first="there is no trained agent yet: run `gaelp train` first",
    )
    say(f"run {trained.run_id}: {trained.agent} on logged campaigns")
    work_on_phase(settings, HISTORY, trained, as_json=as_json)
