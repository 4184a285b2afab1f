"""Turn plain values into a checked model, or into one message that names every wrong key."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from gaelp.config.allowed_values import allowed_kind, allowed_length, allowed_range
from gaelp.config.problems import KeyPath, Problem, describe_value, dotted, raise_problems
from gaelp.config.schema import constraints_at, holds_secret, keys_at, leaf_keys, types_at
from gaelp.config.suggest import nearest, nearest_key
from gaelp.config.validation_errors import CUSTOM_MESSAGE
from gaelp.errors import BadInput, ConfigError

__all__ = ["validated"]

Model = TypeVar("Model", bound=BaseModel)

_MAPPING_EXPECTED = ("model_type", "model_attributes_type", "dict_type")
_AUTHORS_MESSAGE = ("value_error", "assertion_error")
_OUT_OF_RANGE = ("greater_than", "greater_than_equal", "less_than", "less_than_equal")
_WRONG_LENGTH = {
    "too_short": "entries",
    "too_long": "entries",
    "string_too_short": "characters",
    "string_too_long": "characters",
}


def validated(
    model: type[Model],
    values: Mapping[str, Any],
    place_of: Callable[[KeyPath], str],
    *,
    earlier: Sequence[Problem] = (),
    error: type[BadInput] = ConfigError,
) -> Model:
    """Check values against a model; problems found earlier are reported together with the new ones."""
    try:
        # Strict JSON: true is no number and "7" is no integer, yet text becomes a path and a list a tuple.
        checked = model.model_validate_json(json.dumps(values), strict=True)
    except ValidationError as problem:
        details = problem.errors(include_url=False)
        problems = [_problem(model, values, place_of, detail) for detail in details]
    else:
        problems = []
    # Raised outside the handler: pydantic's exception carries the values, and one may be a secret.
    raise_problems([*earlier, *problems], error=error)
    return checked


def _problem(
    model: type[BaseModel], values: Mapping[str, Any], place_of: Callable[[KeyPath], str], detail: ErrorDetails
) -> Problem:
    path, value = _locate(detail, values)
    return Problem(place_of(path), path, _text(model, path, value, detail))


def _locate(detail: ErrorDetails, values: Any) -> tuple[KeyPath, Any]:
    """The key path as written in the file (pydantic adds union and key markers) and the value there."""
    location = detail["loc"]
    missing = detail["type"] == "missing"
    path: list[str | int] = []
    for part in location[:-1] if missing else location:
        if isinstance(values, dict) and str(part) in values:
            path, values = [*path, str(part)], values[str(part)]
        elif isinstance(values, list) and isinstance(part, int) and part < len(values):
            path, values = [*path, part], values[part]
    return (*path, *(location[-1:] if missing else ())), values


def _text(model: type[BaseModel], path: KeyPath, value: Any, detail: ErrorDetails) -> str:
    kind = detail["type"]
    if kind == "extra_forbidden":
        return _unknown_key(model, path)
    if kind == "missing":
        return _missing(model, path, detail)
    if kind == CUSTOM_MESSAGE:
        return str(detail["msg"])
    if kind in _AUTHORS_MESSAGE:
        return str(detail["msg"]).partition(", ")[2]
    shown = "a value (not shown)" if any(map(holds_secret, types_at(model, path))) else describe_value(value)
    if kind in _MAPPING_EXPECTED:
        return f"saw {shown}; allowed: a mapping{_with_keys(model, path)}."
    return f"saw {shown}; allowed: {_allowed(model, path, detail)}.{_nearest_literal(value, detail)}"


def _allowed(model: type[BaseModel], path: KeyPath, detail: ErrorDetails) -> str:
    """What is allowed instead; an unforeseen kind of error is described by pydantic's message."""
    kind, limits, context = detail["type"], constraints_at(model, path), detail.get("ctx", {})
    in_words = ""
    if kind in _OUT_OF_RANGE:
        in_words = allowed_range(limits)
    elif kind in _WRONG_LENGTH:
        # A list of fixed length has no constraint of its own, but the error says how long it must be.
        in_words = allowed_length(limits or [SimpleNamespace(**context)], _WRONG_LENGTH[kind])
    elif kind.startswith("union_tag"):
        tag = str(context.get("discriminator", "")).strip("'")
        in_words = f"a mapping whose {tag} is one of {context.get('expected_tags', 'the known kinds')}"
    else:
        in_words = allowed_kind(kind, limits)
    return in_words or str(detail["msg"]).removeprefix("Input should be ")


def _missing(model: type[BaseModel], path: KeyPath, detail: ErrorDetails) -> str:
    if isinstance(path[-1], int):
        return f"saw a list of {len(detail['input'])}; allowed: one more entry, in place {path[-1] + 1}. Add it."
    keys = _with_keys(model, path)
    return f"required key is missing{'; allowed: a mapping' if keys else ''}{keys}. Add it."


def _unknown_key(model: type[BaseModel], path: KeyPath) -> str:
    # The value of an unknown key is never shown: it may be a secret under a mistyped name.
    siblings = keys_at(model, path[:-1])
    everywhere = [".".join(leaf) for leaf in leaf_keys(model)]
    guess = nearest_key(str(path[-1]), dotted(path[:-1]), siblings, everywhere)
    return f"unknown key; allowed here: {', '.join(siblings)}.{guess}"


def _with_keys(model: type[BaseModel], path: KeyPath) -> str:
    keys = keys_at(model, path)
    return f" with the keys {', '.join(keys)}" if keys else ""


def _nearest_literal(value: object, detail: ErrorDetails) -> str:
    if detail["type"] not in ("literal_error", "enum") or not isinstance(value, str):
        return ""
    return nearest(value, _quoted(str(detail.get("ctx", {}).get("expected", ""))))


def _quoted(text: str) -> Iterator[str]:
    yield from text.split("'")[1::2]
