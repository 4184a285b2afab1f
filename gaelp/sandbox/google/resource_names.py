"""Resource names such as `customers/1234567890/campaigns/17`: parse, check, build, and replace temporary ids."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gaelp.sandbox.google.failures import AdsError, AdsRefusal, FieldPath
from gaelp.sandbox.google.messages import Message
from gaelp.sandbox.google.resource_kinds import KINDS_BY_COLLECTION

__all__ = ["ResourceName", "parse_name", "replace_temporary_ids"]

_NAME = re.compile(r"customers/(\d{1,10})/([A-Za-z]+)/(-?\d{1,19}(?:~-?\d{1,19})*)")
_TEMPORARY = re.compile(r"-\d+")


@dataclass(frozen=True, slots=True)
class ResourceName:
    """The parts of a resource name; `key` is the last one, with `~` between the ids if there are several."""

    customer: str
    collection: str
    key: str

    def __str__(self) -> str:
        """As the API writes it."""
        return f"customers/{self.customer}/{self.collection}/{self.key}"

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids in the key."""
        return tuple(int(part) for part in self.key.split("~"))


def parse_name(text: str, collection: str, customer: str, path: FieldPath = ()) -> ResourceName:
    """A resource name of this collection and customer; AdsRefusal with the field path if it is not one."""
    if not text:
        raise AdsRefusal(AdsError("request_error", "RESOURCE_NAME_MISSING", "Resource name is missing.", path))
    match = _NAME.fullmatch(text)
    kind = KINDS_BY_COLLECTION.get(collection)
    key = "{id}~{id}" if kind is not None and kind.owner else "{id}"
    if match is None or match.group(2) != collection or match.group(3).count("~") != key.count("~"):
        expected = f"customers/{{customer_id}}/{collection}/{key}"
        message = f"Resource name '{text}' is malformed: expected '{expected}'."
        raise AdsRefusal(AdsError("request_error", "RESOURCE_NAME_MALFORMED", message, path, text))
    if match.group(1) != customer:
        message = f"Resource '{text}' belongs to another customer than the request ({customer})."
        raise AdsRefusal(AdsError("request_error", "INVALID_CUSTOMER_ID", message, path, text))
    return ResourceName(match.group(1), match.group(2), match.group(3))


def _with_real_ids(text: str, real_ids: Mapping[int, int]) -> str:
    match = _NAME.fullmatch(text)
    if match is None:
        return text
    key = _TEMPORARY.sub(lambda part: str(real_ids.get(int(part.group()), part.group())), match.group(3))
    return f"customers/{match.group(1)}/{match.group(2)}/{key}"


def replace_temporary_ids(message: Message, real_ids: Mapping[int, int]) -> None:
    """Put the ids that earlier operations of the request were given in place of their negative ones, everywhere."""
    for field, value in message.ListFields():
        if field.message_type is not None:
            for inner in value if field.is_repeated else (value,):
                replace_temporary_ids(inner, real_ids)
        elif field.type == field.TYPE_STRING and field.name != "resource_name":
            if field.is_repeated:
                value[:] = [_with_real_ids(text, real_ids) for text in value]
            else:
                setattr(message, field.name, _with_real_ids(value, real_ids))
