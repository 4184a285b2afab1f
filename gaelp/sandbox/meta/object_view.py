"""Objects as the API shows them: the selected fields, times by the account's clock, money as text."""

import json
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import Any

from gaelp.sandbox.meta.account_objects import AccountObjects, Node
from gaelp.sandbox.meta.account_state import is_disabled
from gaelp.sandbox.meta.delivery import CENT_MICROS
from gaelp.sandbox.meta.field_selection import FieldSelection
from gaelp.sandbox.meta.graph_error import GraphError
from gaelp.sandbox.meta.node_types import (
    AD,
    AD_SET,
    CAMPAIGN,
    CREATIVE,
    LABEL,
    TIMES,
    WHOLE_MONEY,
    NodeType,
    type_of_edge,
)
from gaelp.sandbox.meta.statuses import effective_status

__all__ = ["ACCOUNT_FIELDS", "account_view", "node_view"]

ACCOUNT_FIELDS = (
    "id", "account_id", "name", "currency", "timezone_name", "timezone_offset_hours_utc", "account_status",
    "disable_reason", "min_daily_budget",
)  # fmt: skip
_ACTIVE, _DISABLED = 1, 2
_POLICY = 1  # the disable_reason ADS_INTEGRITY_POLICY
_CHILDREN = {CAMPAIGN: ("adsets", "ads"), AD_SET: ("ads",)}
_DEFAULT_LIMIT = 25


def account_view(objects: AccountObjects, fields: Iterable[FieldSelection]) -> dict[str, Any]:
    """The ad account."""
    account, disabled = objects.account, is_disabled(objects)
    offset = objects.now.astimezone(account.zone).utcoffset() or timedelta(0)
    values = {
        "id": f"act_{account.id}",
        "account_id": account.id,
        "name": account.name,
        "currency": account.currency,
        "timezone_name": account.zone.key,
        "timezone_offset_hours_utc": offset / timedelta(hours=1),
        "account_status": _DISABLED if disabled else _ACTIVE,
        "disable_reason": _POLICY if disabled else 0,
        "min_daily_budget": 100,
    }
    names = [field.name for field in fields]
    for name in names:
        if name not in values:
            raise _no_such_field(name, "AdAccount", ACCOUNT_FIELDS)
    return {name: values[name] for name in dict.fromkeys([*names, "id"])}


def node_view(objects: AccountObjects, node: Node, fields: Iterable[FieldSelection]) -> dict[str, Any]:
    """The selected fields of an object, and always its id; fields without a value are left out, as Meta does."""
    view: dict[str, Any] = {}
    for field in fields:
        if field.name not in node.type.fields and field.name not in _CHILDREN.get(node.type, ()):
            raise _no_such_field(field.name, node.type.name, sorted(node.type.fields))
        value = _value(objects, node, field)
        if value is not None:
            view[field.name] = value
    return {**view, "id": str(node.id)}


def _value(objects: AccountObjects, node: Node, field: FieldSelection) -> Any:  # noqa: PLR0911 - one return per kind of field
    name = field.name
    if name in _CHILDREN.get(node.type, ()):
        return _children(objects, node, field)
    if name in node.type.parents:
        parent = objects.find(int(node.body[node.type.parents[name]]), AD_SET if name == "adset" else CAMPAIGN)
        return node_view(objects, parent, field.below) if parent else None
    match name:
        case "id":
            return str(node.id)
        case "account_id":
            return objects.account.id
        case "configured_status":
            return node.status
        case "effective_status":
            return effective_status(objects, node)
        case "budget_remaining":
            return _budget_remaining(objects, node)
        case "creative":
            creative = objects.find(int(node.body["creative"]["id"]), CREATIVE)
            return node_view(objects, creative, field.below) if creative else None
        case "adlabels":
            return _labels(objects, node, field)
    return _printed(objects, node.type, name, node.body.get(name))


def _printed(objects: AccountObjects, node_type: NodeType, name: str, value: Any) -> Any:
    if value is None:
        return None
    if name in TIMES:
        return datetime.fromisoformat(value).astimezone(objects.account.zone).strftime("%Y-%m-%dT%H:%M:%S%z")
    if name in WHOLE_MONEY or (name in ("campaign_id", "adset_id") and node_type in (AD_SET, AD)):
        return str(value)
    return value


def _children(objects: AccountObjects, node: Node, field: FieldSelection) -> dict[str, Any]:
    """An edge inside a selection; only its first entries, the edge itself has pages."""
    child_type = type_of_edge(field.name)
    parent = "campaign_id" if node.type is CAMPAIGN else "adset_id"
    children = objects.all(child_type) if child_type else []
    own = [child for child in children if child.body[parent] == node.id and child.is_living]
    return {"data": [node_view(objects, child, field.below) for child in own[: field.limit or _DEFAULT_LIMIT]]}


def _labels(objects: AccountObjects, node: Node, field: FieldSelection) -> list[dict[str, Any]] | None:
    ids = [item["id"] for item in node.body.get("adlabels", [])]
    below = field.below or tuple(FieldSelection(name) for name in ("name", "created_time", "updated_time"))
    labels = {label.id: node_view(objects, label, below) for label in objects.all(LABEL, ids)}
    return [labels[label] for label in ids if label in labels] or None


def _budget_remaining(objects: AccountObjects, node: Node) -> str | None:
    """What reports have not seen spent yet of the day's budget, or of the whole."""
    daily, total = node.body.get("daily_budget"), node.body.get("lifetime_budget")
    if daily is None and total is None:
        return None
    today = objects.now.astimezone(objects.account.zone).date()
    created = node.at("created_time")
    first: date = today if total is None or created is None else created.astimezone(objects.account.zone).date()
    own = {node.id} if node.type is AD_SET else {ad_set.id for ad_set in objects.ad_sets_of(node)}
    rows = objects.call.report(objects.account.id, first, today)
    spent = sum(row.cost_micros for row in rows if row.group in own)
    return str(max(0, (total or daily or 0) - spent // CENT_MICROS))


def _no_such_field(name: str, node_type: str, known: Iterable[str]) -> GraphError:
    return GraphError(
        f"Tried accessing nonexisting field ({name}) on node type ({node_type}); the sandbox has"
        f" {json.dumps(sorted(known))[1:-1]}",
        blame="fields",
    )
