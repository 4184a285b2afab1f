"""Where secrets may come from: a GAELP__… variable or the file that a GAELP__…_FILE variable names, nowhere else."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from gaelp.config.database_url import secret_parts
from gaelp.config.document import read_text
from gaelp.config.places import absolute
from gaelp.config.problems import KeyPath, Problem, dotted
from gaelp.config.schema import is_secret, secret_keys, types_at
from gaelp.config.settings import Settings
from gaelp.errors import ConfigError

__all__ = ["PREFIX", "Secret", "hide_secrets", "known_secrets", "secret_variables", "secrets_from"]

PREFIX = "GAELP__"
FILE_SUFFIX = "_FILE"
STARS = "**********"


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """A secret of the environment; its repr shows nothing of it."""

    path: KeyPath
    place: str
    value: str


def secret_variables(model: type[BaseModel]) -> set[str]:
    """The names of all variables that give a secret or name its file."""
    names = [_variable(path) for path in secret_keys(model)]
    return {*names, *(f"{name}{FILE_SUFFIX}" for name in names)}


def secrets_from(model: type[BaseModel], environ: Mapping[str, str]) -> Iterator[Secret]:
    """Every secret the environment gives."""
    for path in secret_keys(model):
        name = _variable(path)
        file_name = f"{name}{FILE_SUFFIX}"
        if name in environ and file_name in environ:
            raise ConfigError(f"{name} and {file_name} are both set; allowed: one of them. Unset the other.")
        if name in environ:
            yield _secret(path, name, environ[name])
        elif file_name in environ:
            yield _secret(path, file_name, _read_secret(file_name, environ[file_name]))


def known_secrets(environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The text of every secret in the environment, usable or not, and of the passwords in it: never to be shown."""
    environ = dict(os.environ) if environ is None else environ
    secrets: list[str] = []
    for name in sorted(secret_variables(Settings) & environ.keys()):
        if not name.endswith(FILE_SUFFIX):
            secrets.append(environ[name])
            continue
        # A file that cannot be read holds nothing to hide; load_settings reports why it cannot.
        with suppress(ConfigError):
            secrets.append(_read_secret(name, environ[name]))
    parts = (part for secret in secrets for part in (secret, *secret_parts(secret)))
    return tuple(dict.fromkeys(part for part in parts if part.strip()))


def hide_secrets(
    model: type[BaseModel], values: dict[str, Any], place_of: Callable[[KeyPath], str]
) -> tuple[dict[str, Any], list[Problem]]:
    """Take every secret out of values that came from a place that must not hold secrets, with a problem for each."""
    problems: list[Problem] = []

    def cleaned(node: Any, path: KeyPath) -> Any:
        if node is not None and any(map(is_secret, types_at(model, path))):
            problems.append(Problem(place_of(path), path, _advice(path)))
            return STARS
        if isinstance(node, dict):
            return {key: cleaned(below, (*path, key)) for key, below in node.items()}
        if isinstance(node, list):
            return [cleaned(below, (*path, index)) for index, below in enumerate(node)]
        return node

    return cleaned(values, ()), problems


def _variable(path: KeyPath) -> str:
    return PREFIX + "__".join(str(key).upper() for key in path)


def _advice(path: KeyPath) -> str:
    name = _variable(path)
    return (
        "saw a secret (not shown); allowed: secrets from the environment only. Take it out and set "
        f"{name}, or {name}{FILE_SUFFIX} to the path of a file that holds it."
    )


def _secret(path: KeyPath, place: str, value: str) -> Secret:
    if not value.strip() or not value.isprintable():
        raise ConfigError(
            f"{place}: {dotted(path)}: the secret is empty or not one printable line; set it or unset it."
        )
    return Secret(path, place, value)


def _read_secret(variable: str, file: str) -> str:
    try:
        return read_text(absolute(file)).strip()
    except ConfigError as problem:
        raise ConfigError(f"{variable}: {problem}") from None
