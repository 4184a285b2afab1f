"""What `gaelp up` serves: the pipeline on its weekly schedule, phase 1 alone, and the watch over gates."""

from datetime import timedelta
from typing import Any

from prefect.automations import Automation
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import ConcurrencyLimitConfig, StateType
from prefect.deployments.runner import RunnerDeployment
from prefect.events.actions import ChangeFlowRunState
from prefect.events.schemas.automations import EventTrigger, Posture
from prefect.events.schemas.events import ResourceSpecification
from prefect.flows import Flow
from prefect.schedules import Cron, Schedule
from prefect.types.entrypoint import EntrypointType

from flows.full_pipeline import gaelp
from flows.gate_watch import gate_watch
from flows.simulation import simulation

__all__ = ["CRASHED_AFTER", "WEEKLY", "deployments", "watch_for_crashes"]

WEEKLY = "0 6 * * 1"  # Mondays at six
_HOURLY = "15 * * * *"
CRASHED_AFTER = timedelta(seconds=90)  # three heartbeats
_AUTOMATION = "gaelp: a run without a heartbeat has crashed"


def deployments(config: str, overrides: list[str], *, cron: str = WEEKLY) -> list[RunnerDeployment]:
    """The deployments gaelp/full-pipeline, simulation/alone and gate-watch/hourly, each run one at a time."""
    told = {"config": config, "overrides": overrides}
    return [
        _deployed(gaelp, "full-pipeline", told, Cron(cron, timezone="UTC", slug="weekly")),
        _deployed(simulation, "alone", told),
        _deployed(gate_watch, "hourly", {"config": config}, Cron(_HOURLY, timezone="UTC", slug="hourly")),
    ]


def _deployed(flow: Flow[Any, Any], name: str, parameters: dict[str, Any], *schedules: Schedule) -> RunnerDeployment:
    made = flow.to_deployment(
        name,
        entrypoint_type=EntrypointType.MODULE_PATH,  # whatever folder it is served from
        concurrency_limit=ConcurrencyLimitConfig(limit=1),
        parameters=parameters,
        schedules=list(schedules),
        tags=["gaelp"],
        description=flow.description,
    )
    if not isinstance(made, RunnerDeployment):
        raise TypeError(f"flow {flow.name} gave a {type(made).__name__}, not a deployment")
    return made


def watch_for_crashes() -> None:
    """Have the server mark a run as crashed when its heartbeat stops: whoever ran it is gone and cannot say so."""
    automation = Automation(
        name=_AUTOMATION,
        trigger=EventTrigger(
            after={"prefect.flow-run.heartbeat"},
            expect={"prefect.flow-run.*"},
            match=ResourceSpecification({"prefect.resource.id": ["prefect.flow-run.*"]}),
            for_each={"prefect.resource.id"},
            posture=Posture.Proactive,
            threshold=1,
            within=CRASHED_AFTER,
        ),
        actions=[ChangeFlowRunState(state=StateType.CRASHED, message="no heartbeat: whatever ran it is gone")],
    )
    with get_client(sync_client=True) as client:
        there = client.read_automations_by_name(_AUTOMATION)
    if not there:
        automation.create()
