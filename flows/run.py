"""One run of a flow: its id, the settings it was begun with, and the record of decisions it obeys."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from prefect.client.schemas.objects import FlowRun, State
from prefect.context import FlowRunContext
from prefect.exceptions import TerminationSignal
from prefect.logging import get_run_logger
from prefect.runtime import deployment, flow_run
from prefect.states import Failed

from gaelp.clock import SystemClock
from gaelp.config import LoadedSettings, Settings, check_name, load_settings
from gaelp.errors import ConfigError, Refused
from gaelp.gates.decision_store import DecisionStore
from gaelp.phases.declaration import Assignment, PhaseDeclaration
from gaelp.phases.gate_approval import gate_approvals
from gaelp.phases.lazy_call import lazy_call
from gaelp.phases.old_runs import move_old_files
from gaelp.phases.phase_result import PhaseResult
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.run_settings import keep_settings
from gaelp.phases.runs import RunRecord, note_end, note_run, read_record
from gaelp.types import RunId, new_run_id

__all__ = ["ApprovalMode", "GateClosed", "Run", "begin", "failure_on_record", "flow_run_name", "join", "run_name"]

_check_history = lazy_call("history_source", "check_history")
_check_pilot = lazy_call("pilot_account", "check_pilot")

# person: suspend until someone decides; prompt: ask in this terminal; auto: approve what passes, in the sandbox only.
ApprovalMode = Literal["person", "prompt", "auto"]


class GateClosed(Exception):
    """The run ends at a gate: refused by the verdict, rejected by a person, or left waiting in a terminal."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(reason)
        self.name = name
        self.reason = reason

    def state(self) -> State[None]:
        """How Prefect shows it."""
        return Failed(name=self.name, message=self.reason)

    def sentence(self, run_id: RunId) -> str:
        """How the log reports it, such as "run r was rejected by Ada at gate simulation: the market moved"."""
        word = self.name.lower()
        return f"run {run_id} was {self.reason if self.reason.startswith(word) else f'{word}: {self.reason}'}"


@dataclass(frozen=True, slots=True)
class Run:
    """What every step of a flow needs to know of the run it belongs to."""

    folder: RunFolder
    settings: Settings  # loaded once, when the run began
    config: str
    overrides: list[str]
    approval: ApprovalMode
    flow_run_id: str
    is_deployed: bool  # False: it runs in a terminal and cannot be suspended
    decisions: DecisionStore

    @property
    def run_id(self) -> RunId:
        """The run's id."""
        return self.folder.run_id

    def assign(
        self, declared: PhaseDeclaration, attempt: int, previous: PhaseResult | None
    ) -> Callable[[int, Callable[[Any], None]], Assignment]:
        """What the work of a phase is given, once extension and listener are known."""

        def given(extension: int, on_report: Callable[[Any], None]) -> Assignment:
            return Assignment(
                settings=self.settings,
                folder=self.folder.phase(declared.phase, attempt),
                gate=declared.load_gate(self.settings.gate),
                previous=previous,
                clock=SystemClock(),
                on_report=on_report,
                extension=extension,
            )

        return given

    def finished(self, *results: PhaseResult, state: str = "Completed", reason: str = "") -> dict[str, Any]:
        """Record that the run ended well; returns what the flow returns, as plain JSON."""
        note_end(self.folder, state, reason, SystemClock())
        phases = [
            result.model_dump(mode="json") | {"result": str(result.folder(self.settings.home).details)}
            for result in results
        ]
        return {"run_id": self.run_id, "phases": phases}


def begin(config: str, overrides: list[str], approval: ApprovalMode, run_id: str | None) -> Run:
    """Begin a run, or resume it with the settings it was begun with."""
    flow_run_id = str(flow_run.id)
    name = RunId(check_name(run_id or flow_run_name(), "run_id"))
    loaded, unreadable = _load(config, overrides, name)
    folder = RunFolder(loaded.settings.home, name)
    if not folder.settings.exists():  # whatever is wrong is reported before anything is written
        approvals = gate_approvals(loaded.settings)
        if approval == "auto":
            approvals.check_automatic()
        _check_history(loaded.settings)
        _check_pilot(loaded.settings)
    _check_asked_the_same(folder, config, overrides)
    run = _opened(folder, loaded, unreadable, config, overrides, approval)
    record = RunRecord(
        run_id=name,
        begun_at=SystemClock().now(),
        config=config,
        overrides=tuple(overrides),
        driver="deployment" if deployment.id else "terminal",
        driver_id=flow_run_id,
        process=None if deployment.id else os.getpid(),
    )
    note_run(folder, record)
    return run


def join(config: str, overrides: list[str], run_id: str) -> Run:
    """Work on a run that another flow run drives."""
    loaded, unreadable = _load(config, overrides, RunId(check_name(run_id, "run_id")))
    folder = RunFolder(loaded.settings.home, RunId(run_id))
    if not folder.settings.exists():
        raise Refused(f"run {run_id!r} was not begun below {loaded.settings.home}: only a run that was can be joined")
    return _opened(folder, loaded, unreadable, config, overrides, "person")


def _opened(
    folder: RunFolder,
    loaded: LoadedSettings,
    unreadable: str | None,
    config: str,
    overrides: list[str],
    approval: ApprovalMode,
) -> Run:
    folder.path.mkdir(parents=True, exist_ok=True)
    move_old_files(folder)
    kept = keep_settings(folder, loaded)
    for text in (unreadable,) if unreadable else kept.differences:
        get_run_logger().warning("run %s: %s", folder.run_id, text)
    approvals = gate_approvals(kept.settings, kept.policy)
    if approval == "auto":
        approvals.check_automatic()
    return Run(
        folder=folder,
        settings=kept.settings,
        config=config,
        overrides=overrides,
        approval=approval,
        flow_run_id=str(flow_run.id),
        is_deployed=bool(deployment.id),
        decisions=approvals.decisions(),
    )


def _load(config: str, overrides: list[str], run_id: RunId) -> tuple[LoadedSettings, str | None]:
    """The settings as files say now, and why they cannot be read, if they cannot and the run has its own already."""
    try:
        return load_settings(config, overrides=overrides), None
    except ConfigError as problem:
        bare = load_settings()  # the home and secrets come from the environment
        if not RunFolder(bare.settings.home, run_id).settings.exists():
            raise
        return bare, f"{config} cannot be read now ({problem}); the run keeps the settings it was begun with"


def _check_asked_the_same(folder: RunFolder, config: str, overrides: list[str]) -> None:
    """Refuse to resume a run with other options than it was begun with: they would have no effect."""
    if not (folder.settings.exists() and folder.record.exists()):
        return
    begun = read_record(folder)
    if (begun.config, list(begun.overrides)) != (config, overrides):
        raise Refused(
            f"run {folder.run_id!r} was begun with --config {begun.config} and --set {list(begun.overrides)}; asked for"
            f" now: {config} and {overrides}. A run keeps its settings: `gaelp resume {folder.run_id}` resumes it with"
            " them, another --run begins one with others"
        )


@contextmanager
def failure_on_record(run: Run) -> Iterator[None]:
    """Record that a run was refused, failed or was stopped, so that it is known without the server."""
    try:
        yield
    except GateClosed as closed:
        note_end(run.folder, closed.name, closed.reason, SystemClock())
        raise
    except Exception as problem:
        note_end(run.folder, "Failed", str(problem), SystemClock())
        raise
    except (KeyboardInterrupt, TerminationSignal):
        note_end(run.folder, "Stopped", f"`gaelp resume {run.run_id}` resumes it", SystemClock())
        raise


def run_name(flow_run: FlowRun) -> RunId:
    """The id of the run that a flow run drives, made of its id and the instant it was created: always the same."""
    if flow_run.created is None:
        raise RuntimeError(f"flow run {flow_run.id} has no time of creation: the server is not one of Prefect 3")
    return new_run_id(_Stopped(flow_run.created), lambda count: flow_run.id.bytes[-count:])


def flow_run_name() -> str:
    """The name of the flow run that starts, in the UI and in every line of its log: the id of the run it drives."""
    context = FlowRunContext.get()
    if context is None or context.flow_run is None:
        raise RuntimeError("Prefect names a flow run while it starts; no flow run is starting")
    return str((context.parameters or {}).get("run_id") or run_name(context.flow_run))


@dataclass(frozen=True, slots=True)
class _Stopped:
    """A clock that shows one instant."""

    instant: Any

    def now(self) -> Any:
        """Return it."""
        return self.instant
