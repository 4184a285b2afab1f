"""One run of a flow: what it was told, how it is called, and the record of decisions it obeys."""

from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.runtime import deployment, flow_run

from gaelp.clock import SystemClock
from gaelp.config import Settings, check_name, load_settings
from gaelp.gates.decision_store import DecisionStore
from gaelp.phases.gate_approval import gate_approvals
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.runs import RunRecord, note_run
from gaelp.types import RunId, new_run_id
from tasks.results import PhaseOutcome

__all__ = ["Approval", "Run", "begin"]

# person: suspend until someone decides; prompt: ask in this terminal; auto: approve what passes, in the sandbox only.
Approval = Literal["person", "prompt", "auto"]


@dataclass(frozen=True, slots=True)
class Run:
    """What every step of a flow needs to know of the run it belongs to."""

    run_id: RunId
    settings: Settings
    config: str
    overrides: list[str]
    approval: Approval
    flow_run_id: str
    decisions: DecisionStore

    def finished(self, *outcomes: PhaseOutcome) -> dict[str, Any]:
        """What the flow returns: small, and plain JSON."""
        return {"run_id": self.run_id, "phases": [dict(outcome) for outcome in outcomes]}


def begin(config: str, overrides: list[str], approval: Approval, run_id: str | None) -> Run:
    """Check what the run was told, call the flow run by the run's own id, and note how it is driven."""
    settings = load_settings(config, overrides=overrides).settings
    approvals = gate_approvals(settings)
    if approval == "auto":
        approvals.check_automatic()
    flow_run_id = str(flow_run.id)
    name = _name_for(flow_run_id) if run_id is None else RunId(check_name(run_id, "run_id"))
    record = RunRecord(
        run_id=name,
        begun_at=SystemClock().now(),
        config=config,
        overrides=tuple(overrides),
        driver="deployment" if deployment.id else "terminal",
        driver_id=flow_run_id,
    )
    folder = RunFolder(settings.home, name)
    folder.path.mkdir(parents=True, exist_ok=True)
    note_run(folder, record)
    return Run(name, settings, config, overrides, approval, flow_run_id, approvals.decisions())


def _name_for(flow_run_id: str) -> RunId:
    """The run's id, made of the instant the flow run was created and its id: the same each time it comes by."""
    with get_client(sync_client=True) as client:
        found = client.read_flow_run(UUID(flow_run_id))
        if found.created is None:
            raise RuntimeError(f"flow run {flow_run_id} has no time of creation: the server is not one of Prefect 3")
        name = new_run_id(_Standing(found.created), lambda count: UUID(flow_run_id).bytes[-count:])
        if found.name != name:
            client.update_flow_run(UUID(flow_run_id), name=name)
    return name


@dataclass(frozen=True, slots=True)
class _Standing:
    """A clock that stands at one instant."""

    instant: Any

    def now(self) -> Any:
        """Return it."""
        return self.instant
