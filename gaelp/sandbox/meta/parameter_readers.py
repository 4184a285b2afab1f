"""Readers of request parameters: text of the query or the form to a checked value, or Meta's error with the name."""

import json
from collections.abc import Callable, Collection
from datetime import UTC, datetime, tzinfo
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from gaelp.sandbox.meta.graph_error import GraphError, unsupported

__all__ = [
    "Reader",
    "choice",
    "flag",
    "instant",
    "listed",
    "mapping",
    "objects",
    "positive",
    "read_json",
    "text",
    "web_address",
    "whole",
]

# Name of the parameter, its text, and the account's time zone.
Reader: TypeAlias = Callable[[str, str, tzinfo], Any]

_MAX_TEXT = 4000
_MAX_NUMBER = 2**53  # beyond it JSON readers lose digits
_TIME_FORMATS = ("%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%d %H:%M:%S %z", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d")


def text(name: str, raw: str, _zone: tzinfo) -> str:
    """Any text that is not empty."""
    if not raw.strip():
        raise GraphError(f"Param {name} is empty; give a text", blame=name)
    if len(raw) > _MAX_TEXT:
        raise GraphError(f"Param {name} has {len(raw)} characters; allowed are {_MAX_TEXT}", blame=name)
    return raw


def whole(name: str, raw: str, _zone: tzinfo) -> int:
    """A whole number from 0."""
    if not raw.isascii() or not raw.isdigit() or int(raw[:17]) > _MAX_NUMBER or len(raw) > 16:
        raise GraphError(f"Param {name} must be a whole number from 0; got {raw[:40]!r}", blame=name)
    return int(raw)


def positive(name: str, raw: str, zone: tzinfo) -> int:
    """A whole number from 1, such as an amount in minor units of the currency."""
    number = whole(name, raw, zone)
    if number == 0:
        raise GraphError(f"Param {name} must be greater than 0; got 0", blame=name)
    return number


def flag(name: str, raw: str, _zone: tzinfo) -> bool:
    """True or false."""
    if raw.lower() not in ("true", "false", "1", "0"):
        raise GraphError(f"Param {name} must be a boolean; got {raw[:40]!r}", blame=name)
    return raw.lower() in ("true", "1")


def choice(*allowed: str, sandbox: Collection[str] | None = None) -> Reader:
    """One of Meta's values; those that are not in `sandbox`, if given, are refused as not supported."""

    def read(name: str, raw: str, _zone: tzinfo) -> str:
        if raw not in allowed:
            raise GraphError(f"Param {name} must be one of {{{', '.join(allowed)}}}; got {raw[:60]!r}", blame=name)
        if sandbox is not None and raw not in sandbox:
            raise unsupported(f"{name}={raw}", ", ".join(sandbox))
        return raw

    return read


def instant(name: str, raw: str, zone: tzinfo) -> str:
    """An instant as ISO 8601 in UTC; Meta takes seconds since 1970, or ISO 8601 in the account's zone by default."""
    try:
        moment = datetime.fromtimestamp(int(raw), UTC) if raw.isdigit() else _parsed(raw)
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        raise GraphError(
            f"Param {name} must be a time such as 2026-11-18T00:00:00+0100 or seconds since 1970; got {raw[:40]!r}",
            blame=name,
        ) from None


def listed(*allowed: str) -> Reader:
    """A list of texts, as JSON or separated by commas; of `allowed` ones if any are named."""

    def read(name: str, raw: str, _zone: tzinfo) -> list[str]:
        value = read_json(name, raw) if raw.lstrip().startswith("[") else [part for part in raw.split(",") if part]
        if not isinstance(value, list) or not all(isinstance(item, str | int) for item in value):
            raise GraphError(f"Param {name} must be an array of strings; got {raw[:60]!r}", blame=name)
        items = [str(item) for item in value]
        if wrong := [item for item in items if allowed and item not in allowed]:
            raise unsupported(f"{name}={wrong[0][:60]}", ", ".join(allowed))
        return items

    return read


def mapping(name: str, raw: str, _zone: tzinfo) -> dict[str, Any]:
    """A JSON object."""
    value = read_json(name, raw)
    if not isinstance(value, dict):
        raise GraphError(f"Param {name} must be a JSON object; got {raw[:60]!r}", blame=name)
    return value


def objects(name: str, raw: str, _zone: tzinfo) -> list[dict[str, Any]]:
    """A JSON array of objects."""
    value = read_json(name, raw)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise GraphError(f"Param {name} must be a JSON array of objects; got {raw[:60]!r}", blame=name)
    return value


def web_address(name: str, raw: str, _zone: tzinfo) -> str:
    """An http(s) address with a host."""
    try:
        parts = urlsplit(raw)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise GraphError(f"Param {name} must be a URL such as https://shop.example/bread; got {raw[:60]!r}", blame=name)
    return raw


def read_json(name: str, raw: str) -> Any:
    """Decode JSON."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        raise GraphError(f"Param {name} must be JSON; got {raw[:60]!r}", blame=name) from None


def _parsed(raw: str) -> datetime:
    for form in _TIME_FORMATS:
        try:
            return datetime.strptime(raw, form)  # noqa: DTZ007 - without an offset it is the account's time
        except ValueError:
            continue
    return datetime.fromisoformat(raw)
