"""The messages of the Google Ads API v26, from Google's own package: their classes, enums and fields by name."""

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Any, TypeAlias

from gaelp.errors import ComponentMissing

try:
    from google.ads.googleads.v26.services.types import google_ads_service as _every_resource_and_operation  # noqa: F401
    from google.protobuf.descriptor_pool import Default
    from google.protobuf.message_factory import GetMessageClass
except ImportError as problem:
    raise ComponentMissing(
        f"The Google front of the sandbox needs Google's client package ({problem}): pip install 'gaelp[google-ads]'"
    ) from problem

__all__ = [
    "API",
    "VERSION",
    "Descriptor",
    "Message",
    "clean",
    "copy_of",
    "enum_name",
    "enum_values",
    "find_field",
    "load_service",
    "message_class",
    "new",
    "set_enum",
]

VERSION = "v26"
API = f"google.ads.googleads.{VERSION}"

# Protobuf builds its classes at run time, so there is no type a checker could know.
Message: TypeAlias = Any
Descriptor: TypeAlias = Any


def load_service(module: str) -> None:
    """Register the messages of a service, such as campaign_service; the resources are always there."""
    import_module(f"{API}.services.types.{module}")


@cache
def message_class(name: str) -> Any:
    """The class of a message, such as `resources.Campaign` or `services.CampaignOperation`."""
    return GetMessageClass(Default().FindMessageTypeByName(f"{API}.{name}"))


def new(name: str, /, **values: object) -> Message:
    """An empty message, or one with these values; an enum may be given by its name."""
    return message_class(name)(**values)


def copy_of(message: Message) -> Message:
    """A message with the same content that can be changed."""
    duplicate = type(message)()
    duplicate.CopyFrom(message)
    return duplicate


def clean(name: str) -> str:
    """A field's name in GAQL: Python's messages write `type_` for `type`."""
    return name.rstrip("_")


@cache
def _fields(descriptor: Descriptor) -> dict[str, Any]:
    return {clean(field.name): field for field in descriptor.fields}


def find_field(descriptor: Descriptor, name: str) -> Any:
    """The field of this name, with or without the underscore that Python adds; None if there is none."""
    return _fields(descriptor).get(clean(name))


def enum_values(descriptor: Descriptor, field: str) -> Iterable[str]:
    """The names of the values that an enum field may have."""
    return [value.name for value in find_field(descriptor, field).enum_type.values]


def enum_name(message: Message, field: str) -> str:
    """The name of an enum field's value, such as ENABLED; UNKNOWN for a number that the API does not define."""
    source = find_field(message.DESCRIPTOR, field)
    value = source.enum_type.values_by_number.get(getattr(message, source.name))
    return value.name if value is not None else "UNKNOWN"


def set_enum(message: Message, field: str, name: str) -> None:
    """Set an enum field by the name of its value."""
    target = find_field(message.DESCRIPTOR, field)
    setattr(message, target.name, target.enum_type.values_by_name[name].number)
