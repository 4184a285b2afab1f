"""What `gaelp up` serves: the pipeline on its weekly schedule, phase 1 alone, and the safety watch.

A runner executes the runs of the deployments it created. On a server that other homes use too, their names end with the
home's id, so that no home replaces another's deployment and takes its runs.
"""

from typing import Any

from prefect import serve
from prefect.client.schemas.objects import ConcurrencyLimitConfig
from prefect.deployments.runner import RunnerDeployment
from prefect.flows import Flow
from prefect.schedules import Cron, Schedule
from prefect.types.entrypoint import EntrypointType

from flows.crash_watch import watching_for_crashes
from flows.full_pipeline import gaelp
from flows.long_phases import DEPLOYMENT, long_phase
from flows.safety_watch import safety_watch
from flows.simulation import simulation

__all__ = ["WEEKLY", "deployments", "serve_deployments"]

WEEKLY = "0 6 * * 1"  # Mondays at six
_EVERY_TEN_MINUTES = "*/10 * * * *"
_RUNS_AT_ONCE = 4


def serve_deployments(config: str, overrides: list[str], *, cron: str, shared_as: str | None) -> None:
    """Execute the runs of the deployments until interrupted, and mark those whose process died as crashed."""
    with watching_for_crashes():
        serve(
            *deployments(config, overrides, cron=cron, shared_as=shared_as),
            pause_on_shutdown=False,
            print_starting_message=False,
            limit=_RUNS_AT_ONCE,
        )


def deployments(
    config: str, overrides: list[str], *, cron: str = WEEKLY, shared_as: str | None = None
) -> list[RunnerDeployment]:
    """The deployments gaelp/full-pipeline, simulation/alone, safety-watch/every-ten-minutes, each one run at a time.

    long-phase/alone, which carries out phases that take weeks, works on several runs at once. `shared_as` is the home's
    id on a server that other homes use too.
    """
    parameters = {"config": config, "overrides": overrides}
    suffix = f"-{shared_as}" if shared_as else ""
    return [
        _deployed(gaelp, f"full-pipeline{suffix}", parameters, Cron(cron, timezone="UTC", slug="weekly")),
        _deployed(simulation, f"alone{suffix}", parameters),
        _deployed(long_phase, f"{DEPLOYMENT}{suffix}", parameters, at_once=None),
        _deployed(
            safety_watch,
            f"every-ten-minutes{suffix}",
            parameters,
            Cron(_EVERY_TEN_MINUTES, timezone="UTC", slug="watch"),
        ),
    ]


def _deployed(
    flow: Flow[Any, Any], name: str, parameters: dict[str, Any], *schedules: Schedule, at_once: int | None = 1
) -> RunnerDeployment:
    made = flow.to_deployment(
        name,
        entrypoint_type=EntrypointType.MODULE_PATH,  # whatever folder it is served from
        concurrency_limit=ConcurrencyLimitConfig(limit=at_once) if at_once else None,
        parameters=parameters,
        schedules=list(schedules),
        tags=["gaelp"],
        description=flow.description,
    )
    if not isinstance(made, RunnerDeployment):
        raise TypeError(f"flow {flow.name} gave a {type(made).__name__}, not a deployment")
    return made
