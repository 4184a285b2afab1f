"""How tasks store their results: as JSON, once for each flow run; and which failures are worth a retry."""

import re
from typing import Any

from prefect.cache_policies import INPUTS, RUN_ID, TASK_SOURCE, CachePolicy
from prefect.client.schemas import State, TaskRun
from prefect.tasks import Task

from gaelp.errors import BadInput, Refused

__all__ = ["artifact_key", "kept", "worth_another_try"]


_NOT_IN_KEYS = re.compile("[^a-z0-9]+")


def artifact_key(what: str, run_id: str, attempt: int) -> str:
    """What an artifact of a run is called in Prefect, which takes lower case, digits and dashes only."""
    return _NOT_IN_KEYS.sub("-", f"{what}-{run_id}-{attempt}".lower())


def worth_another_try(_task: Task[Any, Any], _run: TaskRun, state: State[Any]) -> bool:
    """Bad input and refusals would be the same the second time; a full disk or a lost connection may not be."""
    problem = state.result(raise_on_failure=False)
    return not isinstance(problem, BadInput | Refused)


def kept(*objects: str) -> dict[str, Any]:
    """Options of a task whose result is kept for its flow run; the named parameters are objects, not part of its key.

    The flow run is part of the key: without it, one run would take another's phase for its own.
    """
    inputs: CachePolicy = INPUTS
    for name in objects:
        inputs -= name
    return {
        "persist_result": True,
        "cache_policy": inputs + TASK_SOURCE + RUN_ID,
        "result_serializer": "json",  # Prefect pickles by default, and unpickling a tampered result runs code
        "retries": 2,
        "retry_delay_seconds": 5,
        "retry_condition_fn": worth_another_try,
    }
