"""Who changed what, and by which client: the change_event records of an account."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from gaelp.sandbox.google.account_store import AccountStore
from gaelp.sandbox.google.field_masks import changed_paths
from gaelp.sandbox.google.messages import Message, find_field, new, set_enum
from gaelp.sandbox.google.resource_kinds import ResourceKind
from gaelp.sandbox.world_call import Resource

__all__ = ["Editor", "read_changes", "record_change"]

# The kinds that Google records; edits of labels and experiments leave no event.
_RECORDED = frozenset(
    {
        "campaign",
        "campaign_budget",
        "ad_group",
        "ad_group_ad",
        "ad_group_criterion",
        "campaign_criterion",
        "ad_group_bid_modifier",
    }
)


@dataclass(frozen=True, slots=True)
class Editor:
    """Who sent a request, and by what client: GOOGLE_ADS_API, or GOOGLE_ADS_WEB_CLIENT for an edit by hand."""

    user_email: str
    client_type: str = "GOOGLE_ADS_API"


def _stored_as(day: date) -> str:
    return f"google/change_event/{day.isoformat()}"  # one kind a day, so that a query reads only the days it needs


def record_change(
    store: AccountStore, kind: ResourceKind, editor: Editor, before: Message | None, after: Message | None
) -> None:
    """Keep that a resource was created (no `before`), changed, or removed (no `after`)."""
    resource = after if after is not None else before
    if kind.name not in _RECORDED or resource is None:
        return
    number = store.call.next_id()
    micros = int(store.call.now.timestamp() * 1_000_000)
    event = new(
        "resources.ChangeEvent",
        resource_name=store.resource_name("changeEvents", micros, number, 0),
        change_date_time=store.now.strftime("%Y-%m-%d %H:%M:%S.%f"),
        change_resource_name=resource.resource_name,
        user_email=editor.user_email,
    )
    set_enum(event, "change_resource_type", kind.name.upper())
    set_enum(event, "client_type", editor.client_type)
    operation = "CREATE" if before is None else "REMOVE" if after is None else "UPDATE"
    set_enum(event, "resource_change_operation", operation)
    _add_owner(event, resource, store)
    _add_content(event, kind, before, after)
    day = store.now.date()
    store.call.put(Resource(store.account, _stored_as(day), number, "", event.SerializeToString()))


def _add_owner(event: Message, resource: Message, store: AccountStore) -> None:
    """The campaign and the ad group that the change belongs to."""
    fields = resource.DESCRIPTOR.fields_by_name
    if "ad_group" in fields and isinstance(resource.ad_group, str):
        event.ad_group = resource.ad_group
        owner = store.refer(resource.ad_group)
        event.campaign = owner.campaign if owner is not None else ""
    elif "campaign" in fields:
        event.campaign = resource.campaign
    if resource.DESCRIPTOR.name == "Campaign":
        event.campaign = resource.resource_name
    if resource.DESCRIPTOR.name == "AdGroup":
        event.ad_group = resource.resource_name


def _add_content(event: Message, kind: ResourceKind, before: Message | None, after: Message | None) -> None:
    """Old and new content, as far as it differs."""
    empty = kind.empty()
    paths = changed_paths(before if before is not None else empty, after if after is not None else empty)
    event.changed_fields.paths.extend(paths)
    for side, message in (("old_resource", before), ("new_resource", after)):
        if message is not None:
            _copy_paths(getattr(getattr(event, side), kind.name), message, paths)


def _copy_paths(target: Message, source: Message, paths: list[str]) -> None:
    for name in dict.fromkeys(path.split(".")[0] for path in paths):
        field = find_field(source.DESCRIPTOR, name)
        if field.is_repeated or field.message_type is not None:
            if field.is_repeated or source.HasField(field.name):
                _merge_field(target, source, field.name)
        elif not field.has_presence or source.HasField(field.name):
            setattr(target, field.name, getattr(source, field.name))


def _merge_field(target: Message, source: Message, name: str) -> None:
    getattr(target, name).MergeFrom(getattr(source, name))


def read_changes(store: AccountStore, first: date, last: date) -> Iterator[Message]:
    """The events of these days of the account, the newest first."""
    day = min(last, store.now.date())
    while day >= first:
        for stored in reversed(store.call.resources(store.account, _stored_as(day))):
            event = new("resources.ChangeEvent")
            event.ParseFromString(stored.body)
            yield event
        day -= timedelta(days=1)
