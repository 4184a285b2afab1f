"""Turn plain values into a checked model, or into one message that names every wrong key."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from gaelp.config.problems import KeyPath, Problem, describe_value, dotted, raise_problems
from gaelp.config.schema import holds_secret, keys_at, leaf_keys, types_at
from gaelp.config.suggest import nearest, nearest_key
from gaelp.errors import BadInput, ConfigError

__all__ = ["validated"]

Model = TypeVar("Model", bound=BaseModel)

_MAPPING_EXPECTED = ("model_type", "model_attributes_type", "dict_type")
_AUTHORS_OWN_WORDS = ("value_error", "assertion_error")


def validated(
    model: type[Model],
    values: Mapping[str, Any],
    place_of: Callable[[KeyPath], str],
    *,
    earlier: Sequence[Problem] = (),
    error: type[BadInput] = ConfigError,
) -> Model:
    """Check values against a model; problems found earlier are told together with the new ones."""
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
    path, seen = _locate(detail, values)
    return Problem(place_of(path), path, _text(model, path, seen, detail))


def _locate(detail: ErrorDetails, values: Any) -> tuple[KeyPath, Any]:
    """The key path as it stands in the file (pydantic adds union and key markers) and the value there."""
    location = detail["loc"]
    missing = detail["type"] == "missing"
    path: list[str | int] = []
    for part in location[:-1] if missing else location:
        if isinstance(values, dict) and str(part) in values:
            path, values = [*path, str(part)], values[str(part)]
        elif isinstance(values, list) and isinstance(part, int) and part < len(values):
            path, values = [*path, part], values[part]
    return (*path, *(location[-1:] if missing else ())), values


def _text(model: type[BaseModel], path: KeyPath, seen: Any, detail: ErrorDetails) -> str:
    kind = detail["type"]
    if kind == "extra_forbidden":
        return _unknown_key(model, path)
    if kind == "missing":
        keys = _with_keys(model, path)
        return f"required key is missing{'; allowed: a mapping' if keys else ''}{keys}. Add it."
    if kind in _AUTHORS_OWN_WORDS:
        return str(detail["msg"]).partition(", ")[2]
    seen_text = "a value (not shown)" if any(map(holds_secret, types_at(model, path))) else describe_value(seen)
    if kind in _MAPPING_EXPECTED:
        return f"saw {seen_text}; allowed: a mapping{_with_keys(model, path)}."
    allowed = str(detail["msg"]).removeprefix("Input should be ")
    return f"saw {seen_text}; allowed: {allowed}.{_nearest_literal(seen, detail)}"


def _unknown_key(model: type[BaseModel], path: KeyPath) -> str:
    # The value of an unknown key is never shown: it may be a secret under a mistyped name.
    siblings = keys_at(model, path[:-1])
    everywhere = [".".join(leaf) for leaf in leaf_keys(model)]
    guess = nearest_key(str(path[-1]), dotted(path[:-1]), siblings, everywhere)
    return f"unknown key; allowed here: {', '.join(siblings)}.{guess}"


def _with_keys(model: type[BaseModel], path: KeyPath) -> str:
    keys = keys_at(model, path)
    return f" with the keys {', '.join(keys)}" if keys else ""


def _nearest_literal(seen: object, detail: ErrorDetails) -> str:
    if detail["type"] not in ("literal_error", "enum") or not isinstance(seen, str):
        return ""
    return nearest(seen, _quoted(str(detail.get("ctx", {}).get("expected", ""))))


def _quoted(text: str) -> Iterator[str]:
    yield from text.split("'")[1::2]
