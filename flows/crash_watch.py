"""The watch of `gaelp up`: marks runs whose process is gone, and wakes suspended ones that need not wait any longer.

A run in state Running without a heartbeat has crashed. Prefect's own way, an automation on heartbeat events, also marks
suspended and queued runs when an event is lost on a busy database. So the state is read first: only a run in state
Running can have crashed.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

import httpx
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterState, FlowRunFilterStateType, FlowRunFilterTags
from prefect.client.schemas.objects import FlowRun, StateType
from prefect.exceptions import PrefectException
from prefect.states import Crashed

from flows.flow_runs import wake_decided
from flows.long_phases import wake_pipelines
from gaelp.clock import SystemClock
from gaelp.config import Settings
from gaelp.errors import GaelpError
from gaelp.observability.logs import get_logger

__all__ = ["CRASHED_AFTER", "mark_crashed", "watching_for_crashes"]

CRASHED_AFTER = timedelta(seconds=90)  # three heartbeats
_LOOK_EVERY_S = 15.0


@contextmanager
def watching_for_crashes(settings: Settings) -> Iterator[None]:
    """Look every few seconds while inside; a look that fails is logged, and the next one is made all the same."""
    stopping = threading.Event()

    def watch() -> None:
        while not stopping.wait(_LOOK_EVERY_S):
            try:
                mark_crashed(SystemClock().now())
                wake_pipelines()
                wake_decided(settings)
            except (httpx.HTTPError, PrefectException, GaelpError) as problem:
                get_logger(__name__).warning("could not look for crashed or decided runs", reason=str(problem))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join(_LOOK_EVERY_S)


def mark_crashed(now: datetime) -> list[str]:
    """Mark every run of ours in state Running that has been silent for too long; returns their names."""
    running = FlowRunFilter(
        state=FlowRunFilterState(type=FlowRunFilterStateType(any_=[StateType.RUNNING])),
        tags=FlowRunFilterTags(all_=["gaelp"]),
    )
    with get_client(sync_client=True) as client:
        silent = [run for run in client.read_flow_runs(flow_run_filter=running) if _is_silent(client, run, now)]
        for run in silent:
            client.set_flow_run_state(run.id, Crashed(message="no heartbeat: whatever ran it is gone"))
    return [run.name for run in silent]


def _is_silent(client: SyncPrefectClient, run: FlowRun, now: datetime) -> bool:
    since = now - CRASHED_AFTER
    if run.state is None or run.state.timestamp > since:
        return False
    heard = {
        "filter": {
            "occurred": {"since": since.isoformat(), "until": now.isoformat()},
            "resource": {"id": [f"prefect.flow-run.{run.id}"]},
        },
        "limit": 1,
    }
    answer = client.request("POST", "/events/filter", json=heard)
    return not answer.json()["events"]
