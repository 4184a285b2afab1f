"""`gaelp runs | status | resume | stop`: the life of a run."""

import os
import signal
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.commands.approve import Approve
from flows.commands.gate import RunArgument
from flows.connection import NoServer, connect
from gaelp.cli.options import ConfigOption, JsonOption
from gaelp.cli.output import show_json, show_table, show_text
from gaelp.cli.startup import prepare_reading
from gaelp.clock import SystemClock
from gaelp.config import Settings
from gaelp.config.environment import process_environment
from gaelp.gates.decisions import question_status
from gaelp.phases.gate_approval import gate_approvals
from gaelp.phases.phase_result import PhaseResult
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.runs import all_runs, find_run, phases_done
from gaelp.types import RunId

__all__ = ["resume", "runs", "status", "stop"]


def runs(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List the runs of the pipeline below the home, oldest first."""
    settings = prepare_reading(config, in_home=True).settings
    found = [(record, _stands(settings, record)) for record in all_runs(settings.home)]
    if as_json:
        show_json([record.model_dump(mode="json") | {"stands": stands} for record, stands in found])
    elif found:
        show_table(
            ("run", "begun (UTC)", "config", "in", "stands"),
            [(r.run_id, f"{r.begun_at:%Y-%m-%d %H:%M}", r.config or "", r.driver, s) for r, s in found],
        )
    else:
        show_text("No runs yet; `gaelp run --config quick-test` begins one.")


def status(run: RunArgument, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Show how a run stands: phases finished, verdicts, who decided what, and what it waits for."""
    settings = prepare_reading(config, in_home=True).settings
    record = find_run(settings.home, run)
    stands, done = _stands(settings, record), phases_done(settings.home, run)
    history = gate_approvals(settings).decisions().history(run)
    if as_json:
        decisions = [answer.model_dump(mode="json") for _, answer in history if answer]
        show_json(
            record.model_dump(mode="json")
            | {"stands": stands, "phases": [_phase_row(one) for one in done], "decisions": decisions}
        )
        return
    show_text(f"run {record.run_id}: {stands}")
    show_text(f"begun {record.begun_at:%Y-%m-%d %H:%M:%S} UTC with {record.config}, in a {record.driver}")
    for phase in done:
        learned = "learned" if phase.learned else "nothing learned"
        show_text(
            f"phase {phase.phase}, attempt {phase.attempt}: {phase.agent}, {learned},"
            f" gate says {phase.verdict.outcome}, {phase.seconds:.0f} s"
        )
    for question, answer in history:
        said = f"{answer.choice} by {answer.who}: {answer.why}" if answer else "no decision yet"
        show_text(f"gate {question.gate}, attempt {question.attempt}, verdict {question.code}: {said}")


def _phase_row(result: PhaseResult) -> dict[str, Any]:
    row = {name: getattr(result, name) for name in ("phase", "attempt", "agent", "learned", "seconds")}
    return row | {"outcome": result.verdict.outcome, "model_hash": result.model_hash}


def resume(
    run: RunArgument,
    config: ConfigOption = None,
    approve: Annotated[Approve, typer.Option("--approve", help="For a run in a terminal.")] = Approve.PROMPT,
) -> None:
    """Go on with a run that was interrupted, crashed or expired; what it finished is not computed again."""
    home = prepare_reading(config, in_home=True).settings.home
    record = find_run(home, run)
    if record.driver == "terminal":
        from flows.commands.run import drive  # noqa: PLC0415 - torch takes seconds that `gaelp status` need not spend

        drive(record.config or "base", record.overrides, approve, run, as_json=False)
        return
    connect(home, process_environment())
    from flows.flow_runs import retry, retry_phases  # noqa: PLC0415 - Prefect reads the environment when it is imported

    retry_phases(run)
    retry(record.driver_id)
    show_text(f"run {run} is scheduled again; `gaelp status {run}` shows how it stands")


def stop(run: RunArgument, config: ConfigOption = None) -> None:
    """Stop a run; `gaelp resume` goes on with it from its last checkpoint, and asks again at a gate."""
    settings = prepare_reading(config, in_home=True).settings
    home = settings.home
    record = find_run(home, run)
    if record.driver == "terminal":
        pid = RunFolder(home, RunId(run)).holder()
        if pid is None:
            show_text(f"run {run} is not at work")
            return
        os.kill(pid, signal.SIGINT)
        show_text(f"told process {pid} to stop; `gaelp resume {run}` goes on")
        return
    connect(home, process_environment())
    from flows.flow_runs import cancel, cancel_phases  # noqa: PLC0415 - Prefect reads the environment when it is imported

    cancel_phases(run)
    show_text(f"run {run}: {cancel(record.driver_id)}")
    gate_approvals(settings).decisions().withdraw(run, SystemClock().now())


def _stands(settings: Settings, record: Any) -> str:
    """One line on how a run stands, as far as the files and, for a deployment, the server tell."""
    if record.driver == "deployment":
        return _stands_on_server(settings.home, record)
    if RunFolder(settings.home, RunId(record.run_id)).holder() is not None:
        return "at work"

    history = gate_approvals(settings).decisions().history(record.run_id)
    if not history:
        return f"interrupted: `gaelp resume {record.run_id}`"
    question, decision = history[-1]
    if decision is None:
        return f"{question_status(question, SystemClock().now())} at gate {question.gate}"
    return {"approve": f"passed gate {question.gate}", "reject": "rejected", "rerun": "to be made again"}[
        decision.choice
    ]


def _stands_on_server(home: Path, record: Any) -> str:
    try:
        connect(home, process_environment())
    except NoServer as problem:
        return f"unknown: {problem}"
    from flows.flow_runs import state_name  # noqa: PLC0415 - Prefect reads the environment when it is imported

    return state_name(record.driver_id)
