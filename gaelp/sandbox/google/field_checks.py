"""Checks that hold for resources of every kind: required fields, enum values and names."""

from collections.abc import Iterator

from gaelp.sandbox.google.failures import AdsError, FieldPath
from gaelp.sandbox.google.messages import Message, clean
from gaelp.sandbox.google.resource_kinds import ResourceKind

__all__ = ["check_enums", "check_name", "check_required"]

_LONGEST_NAME = 255


def check_required(kind: ResourceKind, content: Message) -> Iterator[AdsError]:
    """Each required field is set."""
    for name in kind.required:
        field = content.DESCRIPTOR.fields_by_name[name]
        missing = not content.HasField(name) if field.has_presence else not getattr(content, name)
        if missing or (field.type == field.TYPE_STRING and not getattr(content, name)):
            yield AdsError("field_error", "REQUIRED", "The required field was not present.", ((clean(name), None),))


def check_enums(content: Message, path: FieldPath = ()) -> Iterator[AdsError]:
    """No enum has a number that the API does not define."""
    for field, value in content.ListFields():
        here: FieldPath = (*path, (clean(field.name), None))
        if field.enum_type is not None:
            numbers = list(value) if field.is_repeated else [value]
            if any(number == 1 or number not in field.enum_type.values_by_number for number in numbers):
                text = f"The value {numbers} is not one of {field.enum_type.name}."
                yield AdsError("request_error", "INVALID_ENUM_VALUE", text, here)
        elif field.message_type is not None:
            items = list(enumerate(value)) if field.is_repeated else [(None, value)]
            for index, item in items:
                yield from check_enums(item, (*path, (clean(field.name), index)))


def check_name(content: Message) -> Iterator[AdsError]:
    """A name has no control characters and is not too long."""
    name = getattr(content, "name", "")
    if not isinstance(name, str):
        return
    path: FieldPath = (("name", None),)
    if any(ord(character) < 32 for character in name):
        yield AdsError("string_format_error", "ILLEGAL_CHARS", "The name has control characters.", path, name)
    if len(name) > _LONGEST_NAME:
        text = f"The name has {len(name)} characters, more than {_LONGEST_NAME}."
        yield AdsError("string_length_error", "TOO_LONG", text, path, name)
