"""How tasks keep their results: as JSON, once for each flow run, and tried again only where that can help."""

import re
from typing import Any, TypedDict

from prefect.cache_policies import DEFAULT
from prefect.client.schemas import State, TaskRun
from prefect.tasks import Task

from gaelp.errors import BadInput, Refused

__all__ = ["KEPT", "PhaseOutcome", "artifact_key", "worth_another_try"]


_NOT_IN_KEYS = re.compile("[^a-z0-9]+")


class PhaseOutcome(TypedDict):
    """What a phase hands on: where its result is, and the verdict of its gate; small, and plain JSON."""

    run_id: str
    attempt: int
    agent: str
    learned: bool
    result: str
    model_hash: str
    verdict: dict[str, Any]


def artifact_key(what: str, run_id: str, attempt: int) -> str:
    """What an artifact of a run is called in Prefect, which takes lower case, digits and dashes only."""
    return _NOT_IN_KEYS.sub("-", f"{what}-{run_id}-{attempt}".lower())


def worth_another_try(_task: Task[Any, Any], _run: TaskRun, state: State[Any]) -> bool:
    """Wrong input and a refusal are the same the second time; a full disk or a lost connection may not be."""
    problem = state.result(raise_on_failure=False)
    return not isinstance(problem, BadInput | Refused)


# DEFAULT is inputs + source + flow run: without the last, one run would take another's phase for its own.
# JSON: Prefect pickles by default, and unpickling a result that was tampered with runs code.
KEPT: dict[str, Any] = {
    "persist_result": True,
    "cache_policy": DEFAULT,
    "result_serializer": "json",
    "retries": 2,
    "retry_delay_seconds": 5,
    "retry_condition_fn": worth_another_try,
}
