"""What `gaelp up` serves: the pipeline on its weekly schedule, each phase alone, and the safety watch.

A runner executes the runs of the deployments it created. On a server that other homes use too, their names end with the
home's id, so that no home replaces another's deployment and takes its runs.
"""

import asyncio
import logging
import signal
from contextlib import suppress
from typing import Any

from prefect.client.schemas.objects import ConcurrencyLimitConfig
from prefect.deployments.runner import RunnerDeployment
from prefect.flows import Flow
from prefect.runner import Runner
from prefect.schedules import Cron, Schedule
from prefect.types.entrypoint import EntrypointType

from flows.crash_watch import watching_for_crashes
from flows.full_pipeline import gaelp
from flows.history import history
from flows.long_phases import DEPLOYMENT, long_phase
from flows.pilot import pilot
from flows.safety_watch import safety_watch
from flows.scale import scale
from flows.simulation import simulation
from gaelp.config import Settings

__all__ = ["WEEKLY", "QueuedOnce", "deployments", "serve_deployments"]

WEEKLY = "0 6 * * 1"  # Mondays at six
_EVERY_TEN_MINUTES = "*/10 * * * *"
_RUNS_AT_ONCE = 4


def serve_deployments(
    settings: Settings, config: str, overrides: list[str], *, cron: str, shared_as: str | None
) -> None:
    """Execute the runs of the deployments until interrupted, and mark those whose process died as crashed."""
    runner = Runner(pause_on_shutdown=False, limit=_RUNS_AT_ONCE)
    for deployed in deployments(config, overrides, cron=cron, shared_as=shared_as):
        runner.add_deployment(deployed)
    logging.getLogger("prefect.runner.state_proposer").addFilter(QueuedOnce())
    with watching_for_crashes(settings):
        asyncio.run(_run_until_stopped(runner))


async def _run_until_stopped(runner: Runner) -> None:
    """Serve until Ctrl-C or SIGTERM; then the runs at work are cancelled, and `gaelp resume` resumes them.

    Prefect's own handler of SIGTERM never awaits the coroutine that would stop the runner.
    """
    loop, stopping = asyncio.get_running_loop(), asyncio.Event()
    serving = asyncio.create_task(runner.start())
    await asyncio.sleep(0)  # the runner installs its own handler first
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    stop_asked = asyncio.create_task(stopping.wait())
    await asyncio.wait({serving, stop_asked}, return_when=asyncio.FIRST_COMPLETED)
    if serving.done():
        stop_asked.cancel()
    elif runner.started:
        await runner.astop()
    else:
        serving.cancel()
    with suppress(asyncio.CancelledError):
        await serving


class QueuedOnce(logging.Filter):
    """Says once that a run is queued; Prefect says every half minute that its submission was aborted."""

    def __init__(self) -> None:
        super().__init__()
        self._queued: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite the first of these lines and drop the others."""
        arguments = record.args if isinstance(record.args, tuple) else ()
        if not str(record.msg).startswith("Aborted submission") or "SCHEDULED" not in arguments:
            return True
        flow_run_id = str(arguments[0])
        if flow_run_id in self._queued:
            return False
        self._queued.add(flow_run_id)
        record.msg, record.args = "Flow run '%s' is queued: it begins when the run at work ends", (flow_run_id,)
        return True


def deployments(
    config: str, overrides: list[str], *, cron: str = WEEKLY, shared_as: str | None = None
) -> list[RunnerDeployment]:
    """The deployments gaelp/full-pipeline, those of each phase alone, and safety-watch/every-ten-minutes.

    Each has one run at a time.

    long-phase/alone, which carries out phases that take weeks, works on several runs at once. `shared_as` is the home's
    id on a server that other homes use too.
    """
    parameters = {"config": config, "overrides": overrides}
    suffix = f"-{shared_as}" if shared_as else ""
    return [
        _deployed(gaelp, f"full-pipeline{suffix}", parameters, Cron(cron, timezone="UTC", slug="weekly")),
        _deployed(simulation, f"alone{suffix}", parameters),
        _deployed(history, f"alone{suffix}", parameters),
        _deployed(pilot, f"alone{suffix}", parameters),
        _deployed(scale, f"alone{suffix}", parameters),
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
