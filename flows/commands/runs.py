"""`gaelp runs | status | resume | stop`: list runs, show one, resume or stop it."""

import os
import signal
import textwrap
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.commands.approve import Approve
from flows.commands.gate import RunArgument
from flows.commands.run import drive
from flows.connection import connect
from flows.gate_desk import show_commands
from flows.run_states import RunStates, working_process
from gaelp.cli.options import ConfigOption, JsonOption
from gaelp.cli.output import show_json, show_paragraph, show_table, show_text
from gaelp.cli.startup import prepare_reading
from gaelp.cli.train import train
from gaelp.clock import SystemClock
from gaelp.config.environment import process_environment
from gaelp.errors import Refused
from gaelp.gates.decisions import GateDecision, GateQuestion, question_status
from gaelp.phases.gate_approval import gate_approvals
from gaelp.phases.phase_result import PhaseResult
from gaelp.phases.pilot_standing import describe_pilot, pilot_now
from gaelp.phases.release_standing import describe_release, release_now
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.runs import RunRecord, find_run, note_end, phases_done, read_end
from gaelp.types import RunId

__all__ = ["resume", "runs", "status", "stop"]

_STATE_CHARACTERS = 60  # in the list; `gaelp status` shows all of it
_DRIVEN_BY = {"deployment": "deployment", "terminal": "terminal", "train": "gaelp train"}


def runs(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List the runs below the home, of the pipeline and of `gaelp train`, oldest first; queued ones are last."""
    states = RunStates(prepare_reading(config, in_home=True).settings).all()
    if as_json:
        show_json([_as_json(record, state) for record, state in states])
    elif states:
        show_table(("run", "begun (UTC)", "config", "in", "state"), [_row(*run) for run in states])
    else:
        show_text("No runs yet; `gaelp run --config quick-test` begins one.")


def _row(record: RunRecord, state: str) -> tuple[str, ...]:
    begun = f"{record.begun_at:%Y-%m-%d %H:%M}"
    advice_left_out, _, _ = state.partition(": `gaelp")
    short = textwrap.shorten(advice_left_out, _STATE_CHARACTERS)
    return record.run_id, begun, record.config or "", _DRIVEN_BY[record.driver], short


def _as_json(record: RunRecord, state: str) -> dict[str, Any]:
    return record.model_dump(mode="json") | {"state": state, "stands": state}  # both names are read


def status(run: RunArgument, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Show a run: its state, the phases finished, verdicts, who decided what, and what it waits for.

    While its pilot or release runs also the money: spent against the budgets, what it returned so far, held campaigns;
    of a release also its exposure, and the lift over the control with its bounds.
    """
    settings = prepare_reading(config, in_home=True).settings
    record, state = RunStates(settings).find(run)
    done, history = phases_done(settings.home, run), gate_approvals(settings).decisions().history(run)
    pilot, release = pilot_now(settings, run), release_now(settings, run)
    if as_json:
        decisions = [answer.model_dump(mode="json") for _, answer in history if answer]
        phases = [_phase_row(result) for result in done]
        money = {} if pilot is None else {"pilot": pilot.model_dump(mode="json")}
        money |= {} if release is None else {"release": release.model_dump(mode="json")}
        show_json(_as_json(record, state) | {"phases": phases, "decisions": decisions} | money)
        return
    show_paragraph(f"run {record.run_id}: {state}", indent="  ")
    options = "".join(f" --set {override}" for override in record.overrides)
    begun = f"{record.begun_at:%Y-%m-%d %H:%M:%S} UTC"
    show_text(f"begun {begun} with {record.config or 'a config not recorded'}{options}, in {_DRIVEN_BY[record.driver]}")
    for line in (*map(_phase_text, done), *(_decision_text(*asked) for asked in history)):
        show_paragraph(line, indent="  ")
    lines = [] if pilot is None else describe_pilot(pilot)
    for line in lines + ([] if release is None else describe_release(release)):
        show_paragraph(line, indent="  ")
    if history and history[-1][1] is None and question_status(history[-1][0], SystemClock().now()) != "expired":
        show_commands(history[-1][0])


def _phase_text(result: PhaseResult) -> str:
    learned = "learned" if result.learned else "nothing learned"
    return (
        f"phase {result.phase}, attempt {result.attempt}: {result.agent}, {learned},"
        f" gate says {result.verdict.outcome}, {result.seconds:.0f} s"
    )


def _decision_text(question: GateQuestion, answer: GateDecision | None) -> str:
    decided = f"{answer.choice} by {answer.who}: {answer.why}" if answer else "no decision yet"
    return f"gate {question.gate}, attempt {question.attempt}, verdict {question.code}: {decided}"


def _phase_row(result: PhaseResult) -> dict[str, Any]:
    row = {name: getattr(result, name) for name in ("phase", "attempt", "agent", "learned", "seconds")}
    return row | {"outcome": result.verdict.outcome, "model_hash": result.model_hash}


def resume(
    run: RunArgument,
    config: ConfigOption = None,
    approve: Annotated[Approve, typer.Option("--approve", help="For a run in a terminal.")] = Approve.PROMPT,
) -> None:
    """Resume a run that was interrupted, crashed or expired; what it finished is not computed again."""
    home = prepare_reading(config, in_home=True).settings.home
    record = find_run(home, run)
    if _show_if_finished(home, record):
        return
    if record.driver == "train":
        tuned = Path(record.tuned) if record.tuned else None
        train(config=record.config or config, run=run, tuned=tuned, overrides=list(record.overrides))
        return
    if record.driver == "terminal":
        drive(record.config or "base", record.overrides, approve, run, as_json=False)
        return
    connect(home, process_environment())
    from flows.flow_runs import retry, retry_phases  # noqa: PLC0415 - Prefect reads the environment when it is imported

    retry_phases(run)
    retry(record.driver_id)
    show_text(f"run {run} is scheduled again; `gaelp status {run}` shows its state")


def _show_if_finished(home: Path, record: RunRecord) -> bool:
    """Show how a run ended and return True if nothing is left to resume; Refused where it was refused or rejected."""
    run, results = record.run_id, phases_done(home, record.run_id)
    end = read_end(RunFolder(home, RunId(run)))
    if end is not None and end.state in {"Refused", "Rejected"}:
        raise Refused(f"run {run} has ended: {end.text}. Nothing is left to resume; `gaelp run` begins another run")
    if not (end.is_final if end else record.driver == "train" and results):
        return False
    finished = f"finished at {end.at:%Y-%m-%d %H:%M:%S} UTC" if end else "has finished training"
    show_paragraph(f"Run {run} {finished}: nothing is left to resume.")
    for result in results[-1:]:
        show_paragraph(result.verdict.summary)
    show_text(f"gaelp gate show {run}  every rule with its figures\ngaelp status {run}     phases and decisions")
    return True


def stop(run: RunArgument, config: ConfigOption = None) -> None:
    """Stop a run; `gaelp resume` resumes it from its last checkpoint, and asks again at a gate."""
    settings = prepare_reading(config, in_home=True).settings
    record, _ = RunStates(settings).find(run)
    if record.driver != "deployment":
        _interrupt(RunFolder(settings.home, RunId(run)), record)
        return
    connect(settings.home, process_environment())
    from flows.flow_runs import cancel, cancel_phases  # noqa: PLC0415 - Prefect reads the environment when it is imported

    cancel_phases(run)
    show_text(f"run {run}: {cancel(record.driver_id)}; `gaelp resume {run}` resumes it")
    gate_approvals(settings).decisions().withdraw(run, SystemClock().now())
    folder = RunFolder(settings.home, RunId(run))
    if folder.record.exists():  # a queued run has no folder yet
        note_end(folder, "Cancelled", "gaelp stop", SystemClock())


def _interrupt(folder: RunFolder, record: RunRecord) -> None:
    """Stop the process that works on a run, as Ctrl-C in its terminal does."""
    process = working_process(folder, record)
    if process is None:
        show_text(f"no process works on run {folder.run_id}: nothing to stop")
        return
    os.kill(process, signal.SIGINT)
    show_text(f"asked process {process} to stop; `gaelp resume {folder.run_id}` resumes the run")
