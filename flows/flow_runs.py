"""Requests to the Prefect server about flow runs: their state, the queue, to wake, retry or cancel one."""

import time
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import (
    FlowFilter,
    FlowFilterName,
    FlowRunFilter,
    FlowRunFilterExpectedStartTime,
    FlowRunFilterState,
    FlowRunFilterStateType,
    FlowRunFilterTags,
)
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.client.schemas.responses import SetStateStatus
from prefect.client.schemas.sorting import FlowRunSort
from prefect.exceptions import ObjectNotFound
from prefect.states import Cancelled, Cancelling, Scheduled

from flows.answers import key_prefix
from flows.forms import form_of
from flows.home_secret import home_id
from flows.long_phases import phase_runs
from flows.run import run_name
from gaelp.clock import SystemClock
from gaelp.config import Settings
from gaelp.errors import BadInput, Refused
from gaelp.gates.decisions import GateDecision
from gaelp.phases.gate_answers import approvals_of_run
from gaelp.phases.runs import RunRecord, all_runs

__all__ = [
    "cancel",
    "cancel_phases",
    "is_suspended",
    "queued_runs",
    "retry",
    "retry_phases",
    "state_name",
    "wake",
    "wake_decided",
]

_NO_FORM = "Run input schema not found."  # the server's message
_FLOWS = ("gaelp", "simulation")
_QUEUE_SHOWN = 50
_DUE_WITHIN = timedelta(minutes=2)  # a run that found no free slot is tried again after half a minute


def queued_runs(home: Path) -> list[tuple[RunRecord, str]]:
    """The runs of this home that wait on the server for their turn; those the schedule plans are not due yet."""
    due = FlowRunFilter(
        state=FlowRunFilterState(type=FlowRunFilterStateType(any_=[StateType.SCHEDULED, StateType.PENDING])),
        expected_start_time=FlowRunFilterExpectedStartTime(before_=SystemClock().now() + _DUE_WITHIN),
    )
    with get_client(sync_client=True) as client:
        deployments = {deployed.id for deployed in client.read_deployments() if _serves(deployed.name, home)}
        waiting = client.read_flow_runs(
            flow_filter=FlowFilter(name=FlowFilterName(any_=list(_FLOWS))),
            flow_run_filter=due,
            sort=FlowRunSort.EXPECTED_START_TIME_ASC,
            limit=_QUEUE_SHOWN,
        )
    return [(_queued(flow_run), "queued") for flow_run in waiting if flow_run.deployment_id in deployments]


def state_name(flow_run_id: str) -> str:
    """The state of a flow run on the server, with its message where it has one."""
    state = _state(flow_run_id)
    return f"{state.name}: {state.message}" if state.message else str(state.name)


def is_suspended(flow_run_id: str) -> bool:
    """Whether a flow run waits for an answer."""
    return _state(flow_run_id).is_paused()


def wake(flow_run_id: str, decision: GateDecision) -> None:
    """Resume a suspended flow run after a decision; the run reads the decision from the record, not from here."""
    form = form_of(decision)
    with get_client(sync_client=True) as client:
        for wait_s in (1, 2, 4, 8, 0):
            response = client.resume_flow_run(UUID(flow_run_id), run_input=form)
            # The server answers 200 also where it refuses; a run is suspended a moment before its form is known; and
            # the watch of `gaelp up` may have woken it in between.
            if response.status == SetStateStatus.ACCEPT or not _state(flow_run_id).is_paused():
                return
            time.sleep(wait_s)
        reason = getattr(response.details, "reason", None)
        if reason == _NO_FORM and _state(flow_run_id).is_paused():
            # It was killed between being suspended and storing its form: nothing could ever answer it.
            client.set_flow_run_state(UUID(flow_run_id), Scheduled(name="Resuming"), force=True)
            return
    raise Refused(
        f"the decision is recorded, but flow run {flow_run_id} was not woken: {reason}. Give the same command again, or"
        " look at the run in the UI"
    )


def wake_decided(settings: Settings) -> list[str]:
    """Wake the runs of this home that are suspended at a gate decided while no server answered; returns their ids."""
    suspended = FlowRunFilter(
        state=FlowRunFilterState(type=FlowRunFilterStateType(any_=[StateType.PAUSED])),
        tags=FlowRunFilterTags(all_=["gaelp"]),
    )
    with get_client(sync_client=True) as client:
        keys = {
            str(flow_run.id): flow_run.state.state_details.pause_key or ""
            for flow_run in client.read_flow_runs(flow_run_filter=suspended)
            if flow_run.state is not None
        }
    waiting = [record for record in all_runs(settings.home) if record.driver_id in keys] if keys else []
    woken = []
    for record in waiting:
        history = approvals_of_run(settings, record.run_id).decisions().history(record.run_id)
        question, decision = history[-1] if history else (None, None)
        if question and decision and keys[record.driver_id].startswith(key_prefix(question)):
            wake(record.driver_id, decision)
            woken.append(record.run_id)
    return woken


def retry(flow_run_id: str) -> None:
    """Schedule a flow run that ended early once more: what it finished is not computed a second time."""
    state = _state(flow_run_id)
    if state.is_paused():
        raise Refused(
            f"flow run {flow_run_id} is suspended: decide on its gate (`gaelp gate list`), or wait for its long phase"
        )
    if not state.is_final():
        raise Refused(f"flow run {flow_run_id} is {state.name}: it has not ended, so there is nothing to resume")
    with get_client(sync_client=True) as client:
        client.set_flow_run_state(UUID(flow_run_id), Scheduled(message="resumed with gaelp resume"), force=True)


def retry_phases(run_id: str) -> None:
    """Schedule the long phases of a run that ended without a result once more; each resumes where it was."""
    for phase_run in phase_runs(run_id):
        if phase_run.state is not None and phase_run.state.is_final() and not phase_run.state.is_completed():
            retry(str(phase_run.id))


def cancel_phases(run_id: str) -> None:
    """Stop the long phases of a run."""
    for phase_run in phase_runs(run_id):
        cancel(str(phase_run.id))


def cancel(flow_run_id: str) -> str:
    """Stop a flow run; returns the state it is in afterwards."""
    state = _state(flow_run_id)
    if state.is_final():
        return str(state.name)
    # No process works on a suspended or scheduled run, so none could carry out the cancelling.
    proposed: State[Any] = (
        Cancelled(message="gaelp stop") if state.is_paused() or state.is_scheduled() else Cancelling()
    )
    with get_client(sync_client=True) as client:
        client.set_flow_run_state(UUID(flow_run_id), proposed, force=True)
    return str(proposed.name)


def _serves(deployment: str, home: Path) -> bool:
    """Whether a deployment executes runs of this home: on a shared server, names end with the id of their home."""
    return deployment in {"full-pipeline", "alone"} or deployment.endswith(f"-{home_id(home)}")


def _queued(flow_run: FlowRun) -> RunRecord:
    """The record that the run will have once it begins."""
    given = flow_run.parameters
    return RunRecord(
        run_id=given.get("run_id") or run_name(flow_run),
        begun_at=flow_run.created or SystemClock().now(),
        config=given.get("config"),
        overrides=tuple(given.get("overrides") or ()),
        driver="deployment",
        driver_id=str(flow_run.id),
    )


def _state(flow_run_id: str) -> State[object]:
    with get_client(sync_client=True) as client:
        try:
            state = client.read_flow_run(UUID(flow_run_id)).state
        except ObjectNotFound:
            raise BadInput(
                f"the server at {client.api_url} knows no flow run {flow_run_id}: set PREFECT_API_URL to the one that"
                " the run was begun on"
            ) from None
    if state is None:
        raise BadInput(f"flow run {flow_run_id} has no state yet: try again in a moment")
    return state
