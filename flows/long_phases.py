"""Phases that take weeks: each attempt is a flow run of its own, and the pipeline is suspended meanwhile.

The attempt's flow run is created under a key of its own, so that it is created once however often the pipeline is
started. It has ended when its result is stored; the signal only wakes the pipeline, and if it is lost, the watch of
`gaelp up` wakes it.
"""

import time
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

from prefect import flow, suspend_flow_run
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import (
    FlowFilter,
    FlowFilterName,
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import FlowRun, StateType
from prefect.client.schemas.sorting import FlowRunSort
from prefect.exceptions import ObjectNotFound
from prefect.runtime import deployment

from flows.run import Run, join
from gaelp.clock import SystemClock
from gaelp.errors import GaelpError, Refused
from gaelp.phases import declared as pipeline
from gaelp.phases.declaration import PhaseDeclaration
from gaelp.phases.gate_questions import check_passed
from gaelp.phases.phase_result import PhaseResult, read_result
from gaelp.types import Phase
from tasks.phases import do_phase

__all__ = ["DEPLOYMENT", "in_own_deployment", "long_phase", "phase_runs", "proven_before", "wake_pipelines"]

DEPLOYMENT = "alone"
_FLOW = "long-phase"
_WAIT_S = 30.0  # for the pipeline to be suspended, after which the watch wakes it
_LOOKS_BACK = 200  # finished phases


def in_own_deployment(
    run: Run, declared: PhaseDeclaration, attempt: int, extension: int, previous: PhaseResult | None
) -> PhaseResult:
    """What a long phase proved; while there is no result, its flow run works and this one is suspended."""
    path = run.folder.phase(declared.phase, attempt).result(extension)
    key = f"{declared.phase}-{attempt}-{extension}"
    for time_asked in count(1):
        if path.exists():
            return read_result(path)
        started = _started(run, key, _parameters(run, declared, attempt, extension, previous))
        if started.state is not None and started.state.is_final() and not path.exists():
            raise GaelpError(
                f"phase {declared.phase} of run {run.run_id} ended as {started.state.name} without a result:"
                f" {started.state.message}. `gaelp resume {run.run_id}` resumes it"
            )
        # Under a key that has fired already this returns at once: the run was woken, and there may be a result now.
        suspend_flow_run(key=f"phase-{key}-{time_asked}")
    raise AssertionError("count does not end")


def _parameters(
    run: Run, declared: PhaseDeclaration, attempt: int, extension: int, previous: PhaseResult | None
) -> dict[str, Any]:
    return {
        "run_id": run.run_id,
        "phase": declared.phase.value,
        "attempt": attempt,
        "extension": extension,
        "config": run.config,
        "overrides": run.overrides,
        "previous": str(previous.file(run.settings.home)) if previous else None,
        "waker": run.flow_run_id,
    }


def _started(run: Run, key: str, parameters: dict[str, Any]) -> FlowRun:
    """The flow run of an attempt, created unless it is there already: the server creates one for each key."""
    home = (deployment.name or "").removeprefix("full-pipeline")  # on a shared server names end with the home's id
    name = f"{_FLOW}/{DEPLOYMENT}{home}"
    with get_client(sync_client=True) as client:
        try:
            deployed = client.read_deployment_by_name(name)
        except ObjectNotFound:
            raise GaelpError(
                f"the server has no deployment {name}: start `gaelp up`, or deploy prefect.yaml, then"
                f" `gaelp resume {run.run_id}`"
            ) from None
        return client.create_flow_run_from_deployment(
            deployed.id, parameters=parameters, name=f"{run.run_id}-{key}", idempotency_key=f"{run.run_id}-{key}"
        )


@flow(name=_FLOW, flow_run_name="{run_id}-{phase}-{attempt}", persist_result=True, result_serializer="json")
def long_phase(
    run_id: str,
    phase: str,
    attempt: int,
    waker: str,
    extension: int = 0,
    config: str = "quick-test",
    overrides: list[str] | None = None,
    previous: str | None = None,
) -> Any:
    """Carry out one attempt at a long phase of a run, then wake the pipeline that waits for it."""
    run = join(config, overrides or [], run_id)
    declared = pipeline.declaration_of(Phase(phase))
    if attempt > declared.attempts_max or extension > declared.extensions_max:
        raise Refused(
            f"phase {phase} has at most {declared.attempts_max} attempts and {declared.extensions_max} extensions;"
            f" asked for: attempt {attempt}, extension {extension}"
        )
    assign = run.assign(declared, attempt, proven_before(run, declared, previous))
    done = do_phase(phase, run_id, attempt, extension, declared=declared, assign=assign)
    _wake_when_suspended(waker)
    return {"run_id": run_id, "result": done}


def proven_before(run: Run, declared: PhaseDeclaration, previous: str | None) -> PhaseResult | None:
    """What the phase before proved; its gate is checked here too, as anyone on the server can start this flow."""
    position = pipeline.PHASES.index(declared)
    if position == 0:
        return None
    before = pipeline.PHASES[position - 1]
    result = read_result(Path(previous)) if previous else None
    if result is None or (result.run_id, result.phase) != (run.run_id, before.phase):
        raise Refused(
            f"phase {declared.phase} of run {run.run_id} begins on a result of phase {before.phase}; saw none"
        )
    check_passed(before, result, run.decisions, run.settings, SystemClock().now())
    return result


def _wake_when_suspended(waker: str) -> None:
    """Wake the pipeline; it may have been started so recently that it is not suspended yet."""
    begun = time.monotonic()
    with get_client(sync_client=True) as client:
        while time.monotonic() - begun < _WAIT_S:
            state = client.read_flow_run(UUID(waker)).state
            if state is not None and state.is_paused():
                client.resume_flow_run(UUID(waker))
            if state is not None and (state.is_paused() or state.is_final()):
                return
            time.sleep(1)


def wake_pipelines() -> list[str]:
    """Wake every pipeline that is suspended for a long phase that has ended; returns the names of those woken."""
    ended = FlowRunFilter(
        state=FlowRunFilterState(
            type=FlowRunFilterStateType(
                any_=[StateType.COMPLETED, StateType.FAILED, StateType.CRASHED, StateType.CANCELLED]
            )
        )
    )
    woken = []
    with get_client(sync_client=True) as client:
        for phase_run in _phase_runs(client, ended):
            waiting = _waiting_for(client, phase_run)
            if waiting is not None:
                client.resume_flow_run(waiting.id)
                woken.append(waiting.name)
    return woken


def phase_runs(run_id: str) -> list[FlowRun]:
    """The flow runs of a run's long phases."""
    with get_client(sync_client=True) as client:
        runs = _phase_runs(client, FlowRunFilter())
        return [run for run in runs if run.parameters.get("run_id") == run_id]


def _phase_runs(client: SyncPrefectClient, which: FlowRunFilter) -> list[FlowRun]:
    return client.read_flow_runs(
        flow_filter=FlowFilter(name=FlowFilterName(any_=[_FLOW])),
        flow_run_filter=which,
        sort=FlowRunSort.EXPECTED_START_TIME_DESC,
        limit=_LOOKS_BACK,
    )


def _waiting_for(client: SyncPrefectClient, phase_run: FlowRun) -> FlowRun | None:
    """The pipeline that is suspended for exactly this flow run."""
    given = phase_run.parameters
    try:
        waiting = client.read_flow_run(UUID(given["waker"]))
    except ObjectNotFound:
        return None
    key = f"phase-{given['phase']}-{given['attempt']}-{given['extension']}-"
    if waiting.state is None or not waiting.state.is_paused():
        return None
    return waiting if (waiting.state.state_details.pause_key or "").startswith(key) else None
