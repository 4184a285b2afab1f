"""What a key allows, in plain words: the range, length or kind of value that a model asks for."""

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["allowed_kind", "allowed_length", "allowed_range", "plain_number"]

_KINDS = {
    "bool": "true or false",
    "date": "a date such as 2026-01-31",
    "datetime": "a date and time such as 2026-01-31T12:00:00Z",
    "dict": "a mapping",
    "finite": "a finite number",
    "float": "a number",
    "int": "a whole number",
    "list": "a list",
    "mapping": "a mapping",
    "path": "a path",
    "set": "a list",
    "string": "text (in quotes if it looks like a number)",
    "timezone": "a time with its offset from UTC, such as 2026-01-31T12:00:00Z",
    "tuple": "a list",
}


def plain_number(value: float) -> str:
    """A limit as it can be written into a file: 256, 0.5, 1e-06."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(value)


def allowed_range(limits: Iterable[object]) -> str:
    """The range that constraints such as annotated_types.Ge describe, or nothing: 'from 0 to 2', 'greater than 0'."""
    limit_texts = {name: plain_number(value) for name, value in _named(limits, ("gt", "ge", "lt", "le")).items()}
    if "ge" in limit_texts and "le" in limit_texts:
        return f"from {limit_texts['ge']} to {limit_texts['le']}"
    words = {"gt": "greater than", "ge": "at least", "lt": "less than", "le": "at most"}
    return " and ".join(f"{words[name]} {limit_texts[name]}" for name in words if name in limit_texts)


def allowed_length(limits: Iterable[object], unit: str) -> str:
    """The length that constraints such as annotated_types.MinLen describe, or nothing: '1 to 40 characters'."""
    lengths = _named(limits, ("min_length", "max_length"))
    low, high = lengths.get("min_length"), lengths.get("max_length")
    if low is not None and high is not None:
        return f"exactly {low} {unit}" if low == high else f"{low} to {high} {unit}"
    if low is not None:
        return f"at least {low} {unit}"
    return f"at most {high} {unit}" if high is not None else ""


def allowed_kind(error_type: str, limits: Iterable[object]) -> str:
    """What kind of value was due where pydantic reports one of its *_type or *_parsing errors, or nothing."""
    kind = error_type.partition("_")[0]
    return f"{_KINDS[kind]} {allowed_range(limits)}".rstrip() if kind in _KINDS else ""


def _named(limits: Iterable[object], names: tuple[str, ...]) -> Mapping[str, Any]:
    return {name: value for limit in limits for name in names if (value := getattr(limit, name, None)) is not None}
