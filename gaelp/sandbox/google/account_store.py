"""The resources of one Google account, as messages: read and write them by resource name, id or unique name."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from zoneinfo import ZoneInfo

from gaelp.sandbox.google.messages import Message, copy_of, enum_name, find_field
from gaelp.sandbox.google.resource_kinds import KINDS, ResourceKind
from gaelp.sandbox.google.resource_names import ResourceName
from gaelp.sandbox.world_call import Resource, WorldCall

__all__ = ["AccountStore", "is_removed", "key_of", "unique_name"]


def key_of(name: str) -> str:
    """The last part of a resource name: an id, or two with ~ between them."""
    return name.rsplit("/", 1)[-1]


def is_removed(message: Message) -> bool:
    """Whether a resource is kept only as a record that it existed."""
    return find_field(message.DESCRIPTOR, "status") is not None and enum_name(message, "status") == "REMOVED"


class AccountStore:
    """One account within one call; messages are shared between calls, so nobody changes one: `put` keeps copies."""

    def __init__(self, call: WorldCall, account: str, zone: ZoneInfo) -> None:
        self.call = call
        self.account = account
        self.zone = zone
        self._all: dict[str, dict[str, Message]] = {}
        self._present: dict[tuple[str, str], dict[str, list[Message]]] = {}  # by kind and field, then by its value

    @property
    def now(self) -> datetime:
        """The instant of the call by the account's clock."""
        return self.call.now.astimezone(self.zone)

    def find(self, kind: ResourceKind, key: str) -> Message | None:
        """The resource with this key, also a removed one."""
        if kind.name in self._all:
            return self._all[kind.name].get(key)
        if kind.owner:
            stored = self.call.named(self.account, kind.stored_as, key)
        else:
            stored = self.call.resource(self.account, kind.stored_as, int(key))
        return None if stored is None else _parsed(kind, stored)

    def refer(self, name: str) -> Message | None:
        """The resource that a resource name in a stored message refers to."""
        _, _, collection, key = name.split("/")
        return next((self.find(kind, key) for kind in KINDS.values() if kind.collection == collection), None)

    def existing(self, name: str) -> Message:
        """The resource that a stored message refers to, which is never gone while that is there."""
        message = self.refer(name)
        if message is None:
            raise LookupError(f"{name} is referred to but not stored: the sandbox's state is damaged")
        return message

    def all(self, kind_name: str) -> Sequence[Message]:
        """All resources of a kind, removed ones included, in the order of their ids."""
        if kind_name not in self._all:
            kind = KINDS[kind_name]
            self._all[kind_name] = dict(self.call.derived(self.account, kind.stored_as, partial(_by_key, kind)))
        return list(self._all[kind_name].values())

    def present(self, kind_name: str) -> list[Message]:
        """The resources of a kind that are not removed."""
        return [message for message in self.all(kind_name) if not is_removed(message)]

    def children(self, kind_name: str, field: str, name: str) -> Sequence[Message]:
        """The resources of a kind that are not removed, and whose field refers to this resource."""
        place = (kind_name, field)
        if place not in self._present:
            by_value: dict[str, list[Message]] = {}
            for message in self.present(kind_name):
                by_value.setdefault(getattr(message, field), []).append(message)
            self._present[place] = by_value
        return self._present[place].get(name, ())

    def with_name(self, kind: ResourceKind, unique_name: str) -> Message | None:
        """The resource that holds a unique name."""
        stored = self.call.named(self.account, kind.stored_as, unique_name)
        return None if stored is None else _parsed(kind, stored)

    def put(self, kind: ResourceKind, message: Message) -> None:
        """Store a copy of a resource, new or changed."""
        kept = copy_of(message)
        key = key_of(message.resource_name)
        self.call.put(
            Resource(self.account, kind.stored_as, self._id(kind, key), _name(kind, message), kept.SerializeToString())
        )
        self._forget_children(kind)
        if kind.name in self._all:
            self._all[kind.name][key] = kept

    def _id(self, kind: ResourceKind, key: str) -> int:
        if not kind.owner:
            return int(key)
        stored = self.call.named(self.account, kind.stored_as, key)
        if stored is not None:
            return stored.id
        return int(key.split("~")[1]) if kind.second == "new" else self.call.next_id()

    def delete(self, kind: ResourceKind, message: Message) -> None:
        """Delete a resource without a trace."""
        key = key_of(message.resource_name)
        self.call.remove(self.account, kind.stored_as, self._id(kind, key))
        self._all.get(kind.name, {}).pop(key, None)
        self._forget_children(kind)

    def _forget_children(self, kind: ResourceKind) -> None:
        for place in [place for place in self._present if place[0] == kind.name]:
            del self._present[place]

    def resource_name(self, collection: str, *ids: int | str) -> str:
        """A resource name of this account."""
        return str(ResourceName(self.account, collection, "~".join(str(part) for part in ids)))


def _by_key(kind: ResourceKind, stored: Sequence[Resource]) -> dict[str, Message]:
    messages = [_parsed(kind, each) for each in stored]
    return {key_of(message.resource_name): message for message in messages}


def _parsed(kind: ResourceKind, stored: Resource) -> Message:
    message = kind.empty()
    message.ParseFromString(stored.body)
    return message


def _name(kind: ResourceKind, message: Message) -> str:
    """The name under which a resource is found: of two-part ids the key; a removed resource gives its name back."""
    if kind.owner:
        return key_of(message.resource_name)
    if kind.unique_in == "nothing" or is_removed(message) or not message.name:
        return ""
    return unique_name(kind, message)


def unique_name(kind: ResourceKind, message: Message) -> str:
    """What no other resource of the kind may be called; inside its owner's id where names are unique there."""
    if kind.unique_in == "owner":
        return f"{key_of(getattr(message, kind.owner_of_name))}/{message.name}"
    return str(message.name)
