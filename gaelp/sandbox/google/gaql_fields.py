"""The fields a query may name: found in Google's own messages, and checked against what its resource offers."""

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NoReturn

from gaelp.sandbox.google.failures import AdsError, AdsRefusal, Unsupported
from gaelp.sandbox.google.messages import Message, clean, enum_name, find_field, message_class

__all__ = ["GaqlField", "field_value", "is_known_resource", "query_refusal", "resolve_field"]

FieldType = Literal["string", "number", "bool", "enum", "message"]
_WHOLE_MESSAGES = frozenset({"FieldMask", "ChangedResource"})  # selected as they are, without naming subfields
_NUMBERS = frozenset({1, 2, 3, 4, 5, 6, 7, 13, 15, 16, 17, 18})  # protobuf's numbers of the numeric types


@dataclass(frozen=True, slots=True)
class GaqlField:
    """A field such as `ad_group_ad.ad.responsive_search_ad.headlines`; `steps` are its names in Python's messages."""

    path: str
    resource: str  # campaign, metrics, segments ...
    steps: tuple[str, ...]  # below the resource
    type: FieldType
    repeated: bool
    enum_values: frozenset[str] = frozenset()


def query_refusal(code: str, message: str, trigger: str = "") -> AdsRefusal:
    """A QueryError, ready to raise."""
    return AdsRefusal(AdsError("query_error", code, f"Error in query: {message}", trigger=trigger))


def is_known_resource(name: str) -> bool:
    """Whether the API has this resource, whatever this sandbox supports."""
    return name not in {"metrics", "segments"} and find_field(_row(), name) is not None


def _row() -> Any:
    return message_class("services.GoogleAdsRow").DESCRIPTOR


def _refuse_unknown(path: str) -> NoReturn:
    raise query_refusal("UNRECOGNIZED_FIELD", f"unrecognized field in the query: '{path}'.", path)


@cache
def resolve_field(path: str) -> GaqlField:
    """The field of this path; AdsRefusal if the API has none."""
    resource, *rest = path.split(".")
    start = find_field(_row(), resource)
    if start is None or not rest or resource != clean(resource):
        _refuse_unknown(path)
    field, steps = start, []
    for position, name in enumerate(rest):
        inner = field.message_type
        field = find_field(inner, name) if inner is not None and not (position and field.is_repeated) else None
        if field is None:
            _refuse_unknown(path)
        steps.append(field.name)
    kind = _type_of(field)
    if kind == "message" and not field.is_repeated and field.message_type.name not in _WHOLE_MESSAGES:
        names = ", ".join(f"{path}.{clean(inner.name)}" for inner in field.message_type.fields)
        raise query_refusal("UNRECOGNIZED_FIELD", f"'{path}' has subfields: select them instead ({names}).", path)
    values = frozenset(value.name for value in field.enum_type.values) if kind == "enum" else frozenset()
    return GaqlField(path, resource, tuple(steps), kind, bool(field.is_repeated), values)


def _type_of(field: Any) -> FieldType:
    if field.message_type is not None:
        return "message"
    if field.enum_type is not None:
        return "enum"
    if field.type == field.TYPE_BOOL:
        return "bool"
    if field.type in _NUMBERS:
        return "number"
    if field.type == field.TYPE_STRING:
        return "string"
    raise Unsupported(f"fields of protobuf type {field.type} ({field.full_name})")


def field_value(message: Message, field: GaqlField) -> Any:
    """The value of a field as GAQL compares it: enums by name, lists as lists; None if it is not set."""
    for step in field.steps[:-1]:
        if not message.HasField(step):
            return None
        message = getattr(message, step)
    name = field.steps[-1]
    descriptor = message.DESCRIPTOR.fields_by_name[name]
    if field.repeated:
        values = getattr(message, name)
        if field.type != "enum":
            return list(values)
        names = descriptor.enum_type.values_by_number
        return [names[number].name if number in names else "UNKNOWN" for number in values]
    if descriptor.has_presence and not message.HasField(name):
        return None
    return enum_name(message, name) if field.type == "enum" else getattr(message, name)
