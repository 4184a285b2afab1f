"""Values given as text: GAELP__A__B variables, GAELP_HOME and --set a.b=c, one layer for each."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from gaelp.config.document import parse_scalar, parse_yaml
from gaelp.config.origins import Layer, LayerKind
from gaelp.config.problems import KeyPath, Problem, dotted
from gaelp.config.schema import types_at
from gaelp.config.secret_sources import PREFIX, secret_variables
from gaelp.errors import ConfigError

__all__ = ["HOME_VARIABLE", "environment_layers", "override_layers", "process_environment"]

HOME_VARIABLE = "GAELP_HOME"


def process_environment() -> MutableMapping[str, str]:
    """The environment of this process, for libraries that can only be configured through it."""
    return os.environ


def environment_layers(model: type[BaseModel], environ: Mapping[str, str]) -> Iterator[Layer]:
    """One layer for each variable that is not a secret, shortest key path first so that a section precedes its keys."""
    secret = secret_variables(model)
    given = {name: _variable_path(name) for name in environ if name.startswith(PREFIX) and name not in secret}
    if HOME_VARIABLE in environ:
        other = f"{PREFIX}HOME"
        if environ.get(other, environ[HOME_VARIABLE]) != environ[HOME_VARIABLE]:
            raise ConfigError(f"{HOME_VARIABLE} and {other} name two different folders; allowed: one. Unset {other}.")
        given[HOME_VARIABLE] = ("home",)
    for name, path in sorted(given.items(), key=lambda item: (len(item[1]), item[0])):
        yield _layer("environment", model, path, environ[name], place=name)


def override_layers(model: type[BaseModel], overrides: Iterable[str]) -> Iterator[Layer]:
    """One layer for each `a.b=c`; a later one wins."""
    for override in overrides:
        key, equals, text = override.partition("=")
        parts = tuple(part.strip() for part in key.split("."))
        if not equals or not all(parts):
            # Without its value: the text after the = may be a secret.
            raise ConfigError(f"--set {key!r}: not an override; allowed: key=value, such as --set run.seed=7.")
        yield _layer("override", model, parts, text, place="--set")


def _variable_path(name: str) -> tuple[str, ...]:
    parts = tuple(name.removeprefix(PREFIX).lower().split("__"))
    if not all(parts):
        raise ConfigError(f"environment variable {name}: a key is missing; allowed: {PREFIX}RUN__SEED and the like.")
    return parts


def _layer(kind: LayerKind, model: type[BaseModel], path: tuple[str, ...], text: str, *, place: str) -> Layer:
    values: Any = _value(model, path, text, place)
    for key in reversed(path):
        values = {key: values}
    return Layer(kind, values, lambda _: place)


def _value(model: type[BaseModel], path: KeyPath, text: str, place: str) -> Any:
    """Text stays text where the key takes text; elsewhere it is read as YAML. `null` always means nothing."""
    if not text.isprintable():
        raise ConfigError(f"{place}: {dotted(path)}: saw characters that cannot be printed; allowed: one line of text.")
    if text.lower() == "null":
        return None
    if any(_takes_text(kind, text) for kind in types_at(model, path)):
        return text
    if not text.startswith(("[", "{")):
        return parse_scalar(text)
    value, _, problems = parse_yaml(text, place)
    if problems:
        raise ConfigError(str(Problem(place, path, problems[0].text)))
    return value


def _takes_text(kind: Any, text: str) -> bool:
    try:
        TypeAdapter(kind).validate_json(json.dumps(text), strict=True)
    except ValidationError:
        return False
    return True
