"""Read who else has changed a campaign: the account's activities that another application made."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from gaelp.platforms.meta_ads.connection import GraphConnection
from gaelp.platforms.platform import ForeignEdit

__all__ = ["read_foreign_edits"]

_FIELDS = "event_time,event_type,actor_name,application_id,object_id,object_name,extra_data"


def read_foreign_edits(
    connection: GraphConnection, names: Mapping[str, str], since: datetime
) -> tuple[ForeignEdit, ...]:
    """The edits from `since` on, oldest first; `names` are campaigns by the ids of all objects below them."""
    own = connection.read("app", fields="id")["id"]
    rows = connection.read_all(connection.account, "activities", fields=_FIELDS, since=int(since.timestamp()))
    edits = [
        ForeignEdit(names[row["object_id"]], at, row.get("actor_name", "unknown"), _what(row))
        for row in rows
        if row.get("application_id") != own
        and row.get("object_id") in names
        and (at := _instant(row["event_time"])) >= since
    ]
    return tuple(sorted(edits, key=lambda edit: edit.at))


def _what(row: Mapping[str, Any]) -> str:
    """Such as: update_campaign of spring (daily_budget)."""
    try:
        fields = json.loads(row.get("extra_data") or "{}").get("fields", [])
    except (AttributeError, ValueError):
        fields = []
    kind = f"{row['event_type']} of {row.get('object_name', row['object_id'])}"
    return f"{kind} ({', '.join(map(str, fields))})" if fields else kind


def _instant(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S%z").astimezone(UTC)
