"""What is asked of the Prefect server about a flow run: its state, to wake it, to try it again, to cancel it."""

import time
from typing import Any
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State
from prefect.client.schemas.responses import SetStateStatus
from prefect.exceptions import ObjectNotFound
from prefect.states import Cancelled, Cancelling, Scheduled

from flows.forms import form_of
from flows.long_phases import phase_runs
from gaelp.errors import BadInput, Refused
from gaelp.gates.decisions import GateDecision

__all__ = ["cancel", "cancel_phases", "is_suspended", "retry", "retry_phases", "state_name", "wake"]

_NO_FORM = "Run input schema not found."  # how the server says it


def state_name(flow_run_id: str) -> str:
    """The state the server believes a flow run to be in, with its message where it has one."""
    state = _state(flow_run_id)
    return f"{state.name}: {state.message}" if state.message else str(state.name)


def is_suspended(flow_run_id: str) -> bool:
    """Whether a flow run waits for an answer."""
    return _state(flow_run_id).is_paused()


def wake(flow_run_id: str, decision: GateDecision) -> None:
    """Have a suspended flow run go on after a decision; the run reads the decision from the record, not from here."""
    form = form_of(decision)
    with get_client(sync_client=True) as client:
        for wait_s in (1, 2, 4, 8, 0):
            response = client.resume_flow_run(UUID(flow_run_id), run_input=form)
            # The server answers 200 also where it refuses; and a run is suspended a moment before its form is known.
            if response.status == SetStateStatus.ACCEPT:
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


def retry(flow_run_id: str) -> None:
    """Have a flow run that ended without finishing tried again: what it finished is not computed a second time."""
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
    """Have the long phases of a run that ended without a result tried again; each resumes where it was."""
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
    # Nothing runs while it is suspended, so there is nothing that could do the cancelling.
    proposed: State[Any] = (
        Cancelled(message="gaelp stop") if state.is_paused() or state.is_scheduled() else Cancelling()
    )
    with get_client(sync_client=True) as client:
        client.set_flow_run_state(UUID(flow_run_id), proposed, force=True)
    return str(proposed.name)


def _state(flow_run_id: str) -> State[object]:
    with get_client(sync_client=True) as client:
        try:
            found = client.read_flow_run(UUID(flow_run_id)).state
        except ObjectNotFound:
            raise BadInput(
                f"the server at {client.api_url} knows no flow run {flow_run_id}: set PREFECT_API_URL to the one that"
                " the run was begun on"
            ) from None
    if found is None:
        raise BadInput(f"flow run {flow_run_id} has no state yet: try again in a moment")
    return found
