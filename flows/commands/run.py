"""`gaelp run`: the flow `gaelp` in this terminal, with progress."""

import signal
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

import typer

from flows.commands.approve import Approve
from flows.server import terminal_server
from gaelp.cli.interruption import stopped_by_hand
from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import columns_of, say, show_json, show_paragraph, wrapped
from gaelp.cli.phase_tables import show_phase
from gaelp.cli.startup import prepare_run
from gaelp.cli.training_progress import shown_progress
from gaelp.clock import SystemClock
from gaelp.config import Settings, check_name
from gaelp.config.environment import process_environment
from gaelp.errors import GaelpError, Refused, WaitingForPerson
from gaelp.phases.gate_approval import gate_approvals
from gaelp.phases.phase_result import PhaseResult
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.runs import all_runs
from gaelp.types import RunId

__all__ = ["drive", "run"]


def run(
    config: ConfigOption = None,
    approve: Annotated[Approve, typer.Option("--approve", help="Ask here, or approve what passes.")] = Approve.PROMPT,
    run_id: Annotated[
        str | None,
        typer.Option("--run", metavar="ID", help="Resume this run, or begin one of this name.", show_default="new"),
    ] = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run the pipeline in this terminal: every phase there is, each behind its gate.

    - `gaelp run --config quick-test`: asks at each gate

    - `gaelp run --config quick-test --approve auto`: approves what passes; allowed where no money can move

    - `gaelp run --run 20261116-020641-7f3a9c`: resume a run; what it finished is not computed again

    The flow is the one that `gaelp up` serves, on a Prefect server of its own that ends with it. Exit code 0 only if
    the pipeline finished, 3 if a gate refused or someone rejected, 4 if it waits for a person.
    """
    drive(config or "base", overrides or [], approve, run_id, as_json=as_json)


def drive(config: str, overrides: Sequence[str], approve: Approve, run_id: str | None, *, as_json: bool) -> None:
    """Run the flow here and show how it ended."""
    settings = prepare_run(config, list(overrides)).settings
    _check_can_run(settings, approve, run_id)
    signal.signal(signal.SIGTERM, _stop_like_ctrl_c)
    begun_at = SystemClock().now()
    try:
        state = _finished_state(settings, config, overrides, approve, run_id)
    except BaseException as problem:
        if stopped_by_hand(problem):
            _say_how_to_resume(settings, run_id, begun_at)
        raise
    if not state.is_completed():
        if as_json:
            show_json({"status": str(state.name).lower(), "message": state.message})
        _raise_why(state)
    result = state.result()
    if as_json:
        show_json(result)
    else:
        _show(result, with_tables=approve is Approve.AUTO)


def _finished_state(
    settings: Settings, config: str, overrides: Sequence[str], approve: Approve, run_id: str | None
) -> Any:
    """The state that the flow ends in, with its progress shown meanwhile."""
    with shown_progress() as screen:
        screen.stage("starting Prefect")
        with terminal_server(settings.home, process_environment()) as server:
            from flows.full_pipeline import gaelp  # noqa: PLC0415 - Prefect reads the environment when it is imported
            from tasks.progress import shown_on  # noqa: PLC0415 - as above

            server.wait()
            screen.stage("starting the run")
            with shown_on(screen):
                parameters = {"config": config, "overrides": list(overrides), "approval": approve.value}
                state = gaelp(**parameters, run_id=run_id, return_state=True)
            screen.stage("stopping Prefect")
        return state


def _say_how_to_resume(settings: Settings, run_id: str | None, begun_at: datetime) -> None:
    """Name the run that was interrupted; where others began in the same home meanwhile, it may be any of them."""
    begun = [run_id] if run_id else [run.run_id for run in all_runs(settings.home) if run.begun_at >= begun_at]
    if len(begun) == 1:
        say(f"`gaelp resume {begun[0]}` resumes the run")
    elif begun:
        say("`gaelp runs` lists the runs of this home; `gaelp resume RUN` resumes the one that was interrupted")


def _check_can_run(settings: Settings, approve: Approve, run_id: str | None) -> None:
    """Refuse what would be refused later, before Prefect is started."""
    if approve is Approve.AUTO:
        gate_approvals(settings).check_automatic()
    if run_id is not None:
        holder = RunFolder(settings.home, RunId(check_name(run_id, "--run"))).holder()
        if holder is not None:
            raise Refused(f"run {run_id!r} is at work in process {holder}: wait for it, or `gaelp stop {run_id}`")


def _stop_like_ctrl_c(_signal_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _raise_why(state: Any) -> None:
    message = state.message or "the flow ended without a reason"
    match state.name:
        case "Refused":
            raise Refused(message)
        case "Rejected":  # somebody's decision, not an error
            say(wrapped(f"The run was {message}", columns_of(sys.stderr)))
            raise typer.Exit(Refused.exit_code)
        case "Waiting":
            say(wrapped(message, columns_of(sys.stderr)))
            raise typer.Exit(WaitingForPerson.exit_code)
    problem = state.result(raise_on_failure=False)
    raise problem if isinstance(problem, GaelpError) else GaelpError(message)


def _show(result: Mapping[str, Any], *, with_tables: bool) -> None:
    """What the run proved; without the tables if the question at the gate has shown them."""
    run_id = result["run_id"]
    phases = [
        PhaseResult.model_validate({key: value for key, value in phase.items() if key != "result"})
        for phase in result["phases"]
    ]
    for phase in phases:
        if with_tables:
            show_phase(phase)
        else:
            show_paragraph(f"{phase.verdict.summary} `gaelp gate show {run_id}` shows every rule.")
    show_paragraph(f"Run {run_id} finished; `gaelp status {run_id}` shows who decided what.")
    if phases and (following := phases[-1].phase.next):
        show_paragraph(f"The next phase, {following}, is not part of this version: the pipeline ends here.")
