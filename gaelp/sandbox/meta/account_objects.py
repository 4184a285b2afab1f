"""The objects of one ad account within one call: find, list, create and store them."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from gaelp.sandbox.meta.graph_error import GraphError, missing_object
from gaelp.sandbox.meta.node_types import AD, AD_SET, CAMPAIGN, LABEL, NODE_TYPES, NodeType
from gaelp.sandbox.world_call import Resource, WorldCall

__all__ = ["AccountObjects", "MetaAccount", "Node", "find_owner"]

_OF_ALL, _OWNER = "meta", "meta/owner"  # under this account and kind: which account an id belongs to
_LIVING = ("ACTIVE", "PAUSED", "IN_PROCESS", "WITH_ISSUES")


@dataclass(frozen=True, slots=True)
class MetaAccount:
    """An ad account; `id` is what follows `act_`."""

    id: str
    name: str
    currency: str
    zone: ZoneInfo


@dataclass(slots=True)
class Node:
    """An object of the account; `body` holds its fields, times as ISO 8601 in UTC and money in minor units."""

    type: NodeType
    id: int
    body: dict[str, Any]

    @property
    def status(self) -> str:
        """What the advertiser set; labels and reports have none and count as active."""
        return str(self.body.get("status", "ACTIVE"))

    @property
    def is_living(self) -> bool:
        """Whether it is neither deleted nor archived, which lists leave out unless asked."""
        return self.status in _LIVING

    def at(self, field: str) -> datetime | None:
        """A time field as an instant."""
        return datetime.fromisoformat(self.body[field]) if field in self.body else None


def find_owner(call: WorldCall, node_id: int) -> tuple[str, NodeType] | None:
    """The account and the type of the object with this id; an id in a path says neither."""
    stored = call.resource(_OF_ALL, _OWNER, node_id)
    if stored is None:
        return None
    account, kind = stored.body.decode().split(" ")
    return account, next(node_type for node_type in NODE_TYPES if node_type.kind == kind)


class AccountObjects:
    """Reads and writes of one account through one WorldCall."""

    def __init__(self, call: WorldCall, account: MetaAccount) -> None:
        self.call, self.account = call, account

    @property
    def now(self) -> datetime:
        """The simulated instant of the call."""
        return self.call.now

    def find(self, node_id: int, *types: NodeType) -> Node | None:
        """The object with this id, of one of these types (all, if none is named)."""
        for node_type in types or NODE_TYPES:
            if stored := self.call.resource(self.account.id, node_type.kind, node_id):
                return _node(node_type, stored)
        return None

    def require(self, node_id: int, node_type: NodeType, parameter: str) -> Node:
        """The object that a parameter names; an error if it does not exist or is deleted."""
        node = self.find(node_id, node_type)
        if node is None or node.status == "DELETED":
            problem = missing_object(str(node_id), "post") if node is None else None
            raise problem or GraphError(f"{parameter}={node_id} is deleted; name one that is not", blame=parameter)
        return node

    def all(self, node_type: NodeType, ids: Iterable[int] | None = None) -> list[Node]:
        """All objects of a type, or those with these ids, ordered by id."""
        return [_node(node_type, stored) for stored in self.call.resources(self.account.id, node_type.kind, ids)]

    def ad_sets_of(self, campaign: Node) -> list[Node]:
        """The ad sets of a campaign, deleted ones included."""
        return [node for node in self.all(AD_SET) if node.body["campaign_id"] == campaign.id]

    def ads_of(self, campaign: Node) -> list[Node]:
        """The ads of a campaign, deleted ones included."""
        return [node for node in self.all(AD) if node.body["campaign_id"] == campaign.id]

    def campaign_of(self, node: Node) -> Node:
        """The campaign that an ad set or ad belongs to; a campaign itself."""
        campaign = node if node.type is CAMPAIGN else self.find(int(node.body["campaign_id"]), CAMPAIGN)
        if campaign is None:
            raise missing_object(str(node.body["campaign_id"]), "get")
        return campaign

    def label_named(self, name: str) -> Node:
        """The label of this name, created if it is missing."""
        stored = self.call.named(self.account.id, LABEL.kind, name)
        return _node(LABEL, stored) if stored else self.create(LABEL, {"name": name})

    def create(self, node_type: NodeType, body: dict[str, Any]) -> Node:
        """Store a new object."""
        now = self.now.astimezone(UTC).isoformat()
        node = Node(node_type, self.call.next_id(), {"created_time": now, **body, "updated_time": now})
        self._put(node)
        self.call.put(Resource(_OF_ALL, _OWNER, node.id, "", f"{self.account.id} {node_type.kind}".encode()))
        return node

    def save(self, node: Node) -> None:
        """Store a changed object."""
        node.body["updated_time"] = self.now.astimezone(UTC).isoformat()
        self._put(node)

    def _put(self, node: Node) -> None:
        body = json.dumps(node.body, sort_keys=True, separators=(",", ":")).encode()
        unique = node.body["name"] if node.type is LABEL else ""
        self.call.put(Resource(self.account.id, node.type.kind, node.id, unique, body))


def _node(node_type: NodeType, stored: Resource) -> Node:
    return Node(node_type, stored.id, json.loads(stored.body))
