"""`gaelp train`: phase 1 in this terminal, with progress; an interrupted run resumes from its last checkpoint."""

import secrets
import shlex
from pathlib import Path
from typing import Annotated

import typer

from gaelp.cli.interruption import stopped_by_hand
from gaelp.cli.options import ConfigOption, JsonOption, SetOption, as_typed
from gaelp.cli.output import say, show_json
from gaelp.cli.phase_tables import show_phase
from gaelp.cli.startup import prepare_run
from gaelp.cli.training_progress import shown_progress
from gaelp.clock import SystemClock
from gaelp.config import LoadedSettings, check_name
from gaelp.config.places import absolute, shown
from gaelp.errors import Refused
from gaelp.phases.old_runs import move_old_files
from gaelp.phases.phase_result import write_result
from gaelp.phases.run_attempt import RunAttempt
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.run_settings import keep_settings
from gaelp.phases.runs import RunRecord, note_run, read_record
from gaelp.phases.simulation_result import as_phase_result
from gaelp.types import Phase, RunId, new_run_id

__all__ = ["train"]


def train(
    config: ConfigOption = None,
    run: Annotated[
        str | None,
        typer.Option("--run", metavar="ID", help="Resume this run, or begin one of this name.", show_default="new"),
    ] = None,
    tuned: Annotated[
        Path | None,
        typer.Option("--tuned", metavar="FILE", help="The rules tuned for the market.", show_default="by its name"),
    ] = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train an agent on the market, choose its best checkpoint, and judge it on episodes it has not seen.

    - `gaelp train --config quick-test`

    - `gaelp train --set market.name=signals --set training.agent=sac`

    - `gaelp train --run 20261116-020641-7f3a9c`: resume a run that was interrupted, given the same options as before;
      it ends with exactly the parameters of a run that was never interrupted

    The agent learns how far to move the bids of a tuned rule, segment by segment. Where no checkpoint does better than
    the rule on validation episodes, the rule is kept and the result says so. Recipes are in configs/agents/.

    Everything goes to runs/ID/simulation/1 below the home: checkpoints, training.jsonl, simulation.json and
    manifest.json; curves are in MLflow (`mlflow ui --backend-store-uri sqlite:///.gaelp/mlflow.db`).
    """
    from gaelp.phases.simulation import plan_simulation, run_simulation  # noqa: PLC0415 - --help need not load torch

    loaded = prepare_run(config, overrides)
    settings = loaded.settings
    clock = SystemClock()
    run_id = new_run_id(clock, secrets.token_bytes) if run is None else RunId(check_name(run, "--run"))
    plan = plan_simulation(settings, tuned_path=tuned, asked=as_typed(settings.market.name, config, overrides))
    run_folder = RunFolder(settings.home, run_id)
    move_old_files(run_folder)
    folder = run_folder.phase(Phase.SIMULATION)
    attempt = RunAttempt(run_folder, clock, is_new=not run_folder.record.exists())
    say(f"run {run_id}: {plan.recipe.algorithm} on market {plan.market.spec.name}, in {shown(run_folder.path)}")
    if run is not None and not run_folder.path.exists():
        say(f"there is no run {run_id} yet: beginning it")
    record = _recorded(
        run_folder,
        RunRecord(
            run_id=run_id,
            begun_at=clock.now(),
            config=config,
            overrides=tuple(overrides or ()),
            driver="train",
            driver_id="",
            tuned=str(absolute(tuned)) if tuned else None,
        ),
        loaded,
    )
    try:
        with shown_progress() as screen:
            result = run_simulation(plan, folder, clock=clock, on_report=attempt.watching(screen.report))
    except BaseException as problem:
        if stopped_by_hand(problem):
            attempt.note_interruption()
            rules = ("--tuned", str(tuned)) if tuned else ()
            options = shlex.join([*as_typed("", config, overrides)[1:], *rules, *(["--json"] if as_json else [])])
            command = f"gaelp train {options}{' ' if options else ''}--run {run_id}"
            say(f"{attempt.kept_text()}; `{command}` resumes run {run_id}")
        elif isinstance(problem, Exception):
            attempt.note_failure(problem)
        raise
    proven = as_phase_result(result, folder)
    write_result(settings.home, proven)
    if record.driver == "train":  # a run of the pipeline keeps the settings it was begun with
        run_folder.settings.unlink(missing_ok=True)
        keep_settings(run_folder, loaded)
    if as_json:
        show_json(result.model_dump(mode="json"))
    else:
        show_phase(proven)
    if result.stopped == "guardrail":
        attempt.note_guardrail(result.rounds, result.stop_detail)
        raise Refused(f"a guardrail stopped run {run_id} after round {result.rounds}: {result.stop_detail}")
    attempt.note_done()


def _recorded(folder: RunFolder, begun: RunRecord, loaded: LoadedSettings) -> RunRecord:
    """Record how a run is begun and with which settings; one that has a record keeps it."""
    if folder.record.exists():
        return read_record(folder)
    folder.path.mkdir(parents=True, exist_ok=True)
    keep_settings(folder, loaded)
    return note_run(folder, begun)
