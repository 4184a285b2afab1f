"""Batches: up to fifty requests in one, in order; a later one may use the answer of an earlier one."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from gaelp.sandbox.meta import parameter_readers as read
from gaelp.sandbox.meta.graph_error import GraphError
from gaelp.sandbox.meta.graph_request import GraphAnswer, GraphRequest

__all__ = ["run_batch"]

_MOST = 50
_REFERENCE = re.compile(r"\{result=(?P<name>[\w-]+):(?P<path>\$[^}]*)\}")
_STEP = re.compile(r"\.(?P<name>\w+)|\.(?P<star>\*)|\[(?P<index>\d+|\*)\]")


def run_batch(request: GraphRequest, answer: Callable[[GraphRequest], GraphAnswer]) -> list[dict[str, Any] | None]:
    """Answer each request of a batch; null for one that depends on a failed one, or whose answer is to be left out."""
    operations = read.read_json("batch", request.parameters["batch"])
    if not isinstance(operations, list) or not all(isinstance(item, dict) for item in operations):
        raise GraphError("Param batch must be a JSON array of objects", blame="batch")
    if not 1 <= len(operations) <= _MOST:
        raise GraphError(f"batch has {len(operations)} requests; allowed are 1 to {_MOST}: split it", blame="batch")
    referenced = {match["name"] for match in _REFERENCE.finditer(json.dumps(operations))}
    results: dict[str, GraphAnswer | None] = {}
    answers: list[dict[str, Any] | None] = []
    for operation in operations:
        result = _run_one(request, operation, results, answer)
        name = str(operation.get("name", ""))
        if name:
            results[name] = result
        omit = operation.get("omit_response_on_success", name in referenced)
        answers.append(None if result is None or (omit and result.status == 200) else _entry(result))
    return answers


def _run_one(
    request: GraphRequest,
    operation: Mapping[str, Any],
    results: Mapping[str, GraphAnswer | None],
    answer: Callable[[GraphRequest], GraphAnswer],
) -> GraphAnswer | None:
    depends_on = operation.get("depends_on")
    if depends_on and not _succeeded(results, str(depends_on)):
        return None
    try:
        url = _filled(_relative_url(operation), results)
        body = _filled(str(operation.get("body", "")), results)
        if url is None or body is None:
            return None
        return answer(request.inside(str(operation.get("method", "GET")), url, body))
    except GraphError as refused:
        return GraphAnswer(refused.status, refused.body(request.name))


def _relative_url(operation: Mapping[str, Any]) -> str:
    if not isinstance(operation.get("relative_url"), str):
        raise GraphError(f"a request of the batch has no relative_url: {operation!r}", blame="batch")
    return str(operation["relative_url"])


def _succeeded(results: Mapping[str, GraphAnswer | None], name: str) -> bool:
    result = results.get(name)
    return result is not None and result.status == 200


def _filled(text: str, results: Mapping[str, GraphAnswer | None]) -> str | None:
    """The text with references replaced by values of earlier answers; None if one of those failed.

    References inside a form are percent-encoded by clients, so both spellings are looked for.
    """
    text = re.sub(r"%7Bresult%3D([\w-]+)%3A(.*?)%7D", _decoded, text)
    for match in list(_REFERENCE.finditer(text)):
        result = results.get(match["name"])
        if result is None or result.status != 200:
            return None
        text = text.replace(match[0], quote(_extracted(result.body, match["path"])))
    return text


def _decoded(match: re.Match[str]) -> str:
    path = match[2].replace("%24", "$").replace("%2A", "*").replace("%5B", "[").replace("%5D", "]")
    return f"{{result={match[1]}:{path}}}"


def _extracted(body: Any, path: str) -> str:
    """The values at a JSONPath such as $.id or $.data.*.id, separated by commas."""
    values, rest = [body], path[1:]
    while rest:
        step = _STEP.match(rest)
        if step is None:
            raise GraphError(f"{path!r} is not supported in a batch; use a path such as $.id or $.data.*.id")
        rest = rest[step.end() :]
        values = [below for value in values for below in _below(value, step)]
    return ",".join(value if isinstance(value, str) else json.dumps(value) for value in values)


def _below(value: Any, step: re.Match[str]) -> list[Any]:
    if step["name"]:
        return [value[step["name"]]] if isinstance(value, dict) and step["name"] in value else []
    if isinstance(value, dict):
        return list(value.values()) if step["star"] or step["index"] == "*" else []
    if not isinstance(value, list):
        return []
    if step["star"] or step["index"] == "*":
        return list(value)
    return value[int(step["index"]) : int(step["index"]) + 1]


def _entry(answer: GraphAnswer) -> dict[str, Any]:
    headers = {"Content-Type": "application/json; charset=UTF-8", **answer.headers}
    return {
        "code": answer.status,
        "headers": [{"name": name, "value": value} for name, value in headers.items()],
        "body": answer.text(),
    }
