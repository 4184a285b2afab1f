"""Lists of objects: which belong to an edge, which pass the filters, and one page of them with cursors."""

import base64
import binascii
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import urlencode

from gaelp.sandbox.meta import parameter_readers as read
from gaelp.sandbox.meta.account_objects import AccountObjects, Node
from gaelp.sandbox.meta.graph_error import GraphError, unsupported
from gaelp.sandbox.meta.node_types import AD, AD_SET, CAMPAIGN
from gaelp.sandbox.meta.statuses import effective_status

__all__ = ["filtered", "matches", "page"]

Item = TypeVar("Item")

_DEFAULT_LIMIT, _MOST = 25, 5000
_NOT_REPEATED = frozenset({"after", "before", "access_token", "appsecret_proof"})  # in the address of another page
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "EQUAL": lambda value, wanted: str(value) == str(wanted),
    "NOT_EQUAL": lambda value, wanted: str(value) != str(wanted),
    "IN": lambda value, wanted: str(value) in map(str, wanted),
    "NOT_IN": lambda value, wanted: str(value) not in map(str, wanted),
    "CONTAIN": lambda value, wanted: str(wanted).lower() in str(value).lower(),
    "NOT_CONTAIN": lambda value, wanted: str(wanted).lower() not in str(value).lower(),
    "STARTS_WITH": lambda value, wanted: str(value).lower().startswith(str(wanted).lower()),
    "GREATER_THAN": lambda value, wanted: float(value or 0) > float(wanted),
    "LESS_THAN": lambda value, wanted: float(value or 0) < float(wanted),
    "ANY": lambda value, wanted: bool(set(map(str, value or ())) & set(map(str, wanted))),
    "ALL": lambda value, wanted: set(map(str, wanted)) <= set(map(str, value or ())),
    "NONE": lambda value, wanted: not set(map(str, value or ())) & set(map(str, wanted)),
}


def matches(value: Any, rule: Mapping[str, Any]) -> bool:
    """Whether a value passes one entry of `filtering`."""
    operator = str(rule.get("operator"))
    if operator not in _COMPARISONS:
        raise unsupported(f"filtering operator {operator}", ", ".join(_COMPARISONS))
    try:
        return _COMPARISONS[operator](value, rule.get("value"))
    except (TypeError, ValueError):
        raise GraphError(
            f"filtering by {rule.get('field')} with {operator} cannot use value={rule.get('value')!r}",
            blame="filtering",
        ) from None


def filtered(objects: AccountObjects, nodes: Sequence[Node], parameters: Mapping[str, str]) -> list[Node]:
    """The objects that pass `effective_status` and `filtering`; without either the deleted ones are left out."""
    zone = objects.account.zone
    statuses = read.listed()("effective_status", parameters.get("effective_status", ""), zone)
    rules = read.objects("filtering", parameters.get("filtering", "[]"), zone)
    asks_for_status = bool(statuses) or any("status" in str(rule.get("field")) for rule in rules)
    kept = [node for node in nodes if asks_for_status or node.is_living]
    if statuses:
        kept = [node for node in kept if effective_status(objects, node) in statuses]
    for rule in rules:
        kept = [node for node in kept if matches(_filter_value(objects, node, str(rule.get("field"))), rule)]
    return kept


def _filter_value(objects: AccountObjects, node: Node, field: str) -> Any:
    prefix, _, name = field.rpartition(".")
    target: Node | None = node
    if prefix in ("campaign", "adset", "ad"):
        target = _ancestor(objects, node, prefix)
    elif prefix:
        raise unsupported(f"filtering by {field}", "own fields, and those of campaign., adset. and ad.")
    if target is None or (name not in target.type.fields and name != "id"):
        raise unsupported(f"filtering by {field}", ", ".join(sorted(node.type.fields)))
    match name:
        case "id":
            return target.id
        case "effective_status":
            return effective_status(objects, target)
        case "configured_status":
            return target.status
        case "adlabels":
            return [item["id"] for item in target.body.get("adlabels", [])]
    return target.body.get(name)


def _ancestor(objects: AccountObjects, node: Node, kind: str) -> Node | None:
    wanted = {"campaign": CAMPAIGN, "adset": AD_SET, "ad": AD}[kind]
    if node.type is wanted:
        return node
    parent = node.body.get(f"{kind}_id")
    return None if parent is None else objects.find(int(parent), wanted)


def page(
    items: Sequence[Item],
    parameters: Mapping[str, str],
    address: str,
    view: Callable[[Item], dict[str, Any]],
    keys: Sequence[int] | None = None,
) -> dict[str, Any]:
    """One page of a list; `next` and `previous` are there only where there is more.

    A cursor holds a key. `keys` rise with the items; ids as keys let others be deleted between two pages.
    """
    limit, keys = _limit(parameters), range(len(items)) if keys is None else keys
    start, stop = _window(parameters, keys, limit)
    answer: dict[str, Any] = {"data": [view(item) for item in items[start:stop]]}
    if start < stop:
        before, after = _cursor(keys[start]), _cursor(keys[stop - 1])
        paging: dict[str, Any] = {"cursors": {"before": before, "after": after}}
        kept = {name: value for name, value in parameters.items() if name not in _NOT_REPEATED}
        if stop < len(items):
            paging["next"] = f"{address}?{urlencode({**kept, 'after': after})}"
        if start > 0:
            paging["previous"] = f"{address}?{urlencode({**kept, 'before': before})}"
        answer["paging"] = paging
    if "total_count" in parameters.get("summary", "") or parameters.get("summary") == "true":
        answer["summary"] = {"total_count": len(items)}
    return answer


def _limit(parameters: Mapping[str, str]) -> int:
    raw = parameters.get("limit", str(_DEFAULT_LIMIT))
    if not raw.isdigit() or not 1 <= int(raw) <= _MOST:
        raise GraphError(f"Param limit must be a number from 1 to {_MOST}; got {raw[:20]!r}", blame="limit")
    return int(raw)


def _window(parameters: Mapping[str, str], keys: Sequence[int], limit: int) -> tuple[int, int]:
    if "after" in parameters:
        start = bisect_right(keys, _key(parameters["after"]))
        return start, min(start + limit, len(keys))
    if "before" in parameters:
        stop = bisect_left(keys, _key(parameters["before"]))
        return max(0, stop - limit), stop
    return 0, min(limit, len(keys))


def _cursor(key: int) -> str:
    return base64.urlsafe_b64encode(f"at:{key}".encode()).decode()


def _key(cursor: str) -> int:
    try:
        return int(base64.urlsafe_b64decode(cursor.encode()).decode().removeprefix("at:"))
    except (ValueError, binascii.Error):
        raise GraphError(f"{cursor[:40]!r} is not a cursor of this list; start without one", blame="after") from None
