"""The answers that Prefect accepted at a gate, read by the question they answer.

Prefect hands an answer only to the process that resumes under the same pause key. If that process dies, or the server
counts its start twice, the answer would never be read. So every process that works on the run looks answers up here.
"""

from dataclasses import dataclass
from datetime import datetime
from itertools import count
from typing import Any
from uuid import UUID

import orjson
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRunInput

from gaelp.gates.decisions import GateQuestion

__all__ = ["FormAnswer", "answers_to", "key_prefix", "pause_key"]

_LIMIT = 200  # the most that the server returns at once; nobody answers a gate that often
_STATE = "suspended-"  # Prefect puts these in front of a pause key and behind it
_SCHEMA, _RESPONSE = "-schema", "-response"


@dataclass(frozen=True, slots=True)
class FormAnswer:
    """A form that was sent and accepted."""

    fields: dict[str, Any]
    accepted_at: datetime


def answers_to(flow_run_id: str, question: GateQuestion) -> list[FormAnswer]:
    """Every answer to a question that the server accepted, oldest first."""
    sent = [given for given in _inputs(flow_run_id, question) if given.key.endswith(_RESPONSE)]
    return [FormAnswer(orjson.loads(given.value), _created(given)) for given in sorted(sent, key=_created)]


def pause_key(flow_run_id: str, question: GateQuestion) -> str:
    """A key under which this question was not asked before: the server pauses once for each key."""
    used = {given.key for given in _inputs(flow_run_id, question)}
    with get_client(sync_client=True) as client:
        fired = client.read_flow_run(UUID(flow_run_id)).empirical_policy.pause_keys or set()
    keys = (f"{key_prefix(question)}{number}" for number in count(1))
    return next(key for key in keys if key not in fired and f"{_STATE}{key}{_SCHEMA}" not in used)


def key_prefix(question: GateQuestion) -> str:
    """What all pause keys of a question begin with; one that expired and is asked again is another question."""
    opened = question.opened_at.strftime("%Y%m%d%H%M%S%f")
    return f"{question.gate}-{question.attempt}-{question.code}-{opened}-"


def _inputs(flow_run_id: str, question: GateQuestion) -> list[FlowRunInput]:
    prefix = f"{_STATE}{key_prefix(question)}"
    with get_client(sync_client=True) as client:
        return client.filter_flow_run_input(UUID(flow_run_id), key_prefix=prefix, limit=_LIMIT, exclude_keys=set())


def _created(given: FlowRunInput) -> datetime:
    if given.created is None:
        raise RuntimeError(f"the server does not say when it accepted {given.key}: it is not one of Prefect 3")
    return given.created
