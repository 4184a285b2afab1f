"""Load the settings of a run: base.yaml, a named config, the environment and --set, one on top of the other."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gaelp.config.document import read_document
from gaelp.config.environment import environment_layers, override_layers
from gaelp.config.file_kind import check_kind
from gaelp.config.fingerprint import fingerprint
from gaelp.config.origins import DEFAULT, Layer, LayerKind, Merged, Origin
from gaelp.config.places import find_file
from gaelp.config.problems import KeyPath, Problem, dotted
from gaelp.config.schema import is_required
from gaelp.config.secret_sources import PREFIX, hide_secrets, secrets_from
from gaelp.config.settings import Settings
from gaelp.config.validation import validated

__all__ = ["LoadedSettings", "load_settings"]

BASE = "base"


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """Checked settings together with the origin of every value."""

    settings: Settings
    origins: Mapping[str, Origin]

    @property
    def hash(self) -> str:
        """What identifies these settings; the same for the same values, however they were written."""
        return fingerprint(self.settings)

    @property
    def values(self) -> dict[str, Any]:
        """Every key path with its value as JSON would hold it; a secret is only stars."""
        return {dotted(path): value for path, value in _leaves(self.settings.model_dump(mode="json"))}


def load_settings(
    config: str | Path | None = None,
    *,
    overrides: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
    as_shipped: Collection[str] = (),
) -> LoadedSettings:
    """The settings of a run; `config` is a name from configs/ or a path, None is base.yaml alone.

    `overrides` are texts like `run.seed=7`. Without `environ` the environment of this process is read. Sections named
    in `as_shipped` are those of base.yaml, whatever else is said of them.
    """
    left_out = tuple(f"{PREFIX}{section.upper()}__" for section in as_shipped)
    environ = {
        name: text
        for name, text in (os.environ if environ is None else environ).items()
        if not name.startswith(left_out)
    }
    merged, problems = Merged(), list[Problem]()
    for layer in _layers(config, overrides, environ, problems):
        given = layer.values if layer.kind == "base" else _without(as_shipped, layer.values)
        values, secrets = hide_secrets(Settings, given, layer.place)
        merged.add(Layer(layer.kind, values, layer.place))
        problems += secrets
    _add_secrets(merged, environ)
    settings = validated(Settings, merged.values, lambda path: merged.origin(path).place, earlier=problems)
    return LoadedSettings(settings, _origins(settings, merged))


def _layers(
    config: str | Path | None, overrides: Sequence[str], environ: Mapping[str, str], problems: list[Problem]
) -> Iterator[Layer]:
    yield _file_layer("base", BASE, problems)
    if config is not None:
        yield _file_layer("config", config, problems)
    yield from environment_layers(Settings, environ)
    yield from override_layers(Settings, overrides)


def _file_layer(kind: LayerKind, path_or_name: str | Path, problems: list[Problem]) -> Layer:
    document = read_document(find_file(path_or_name))
    check_kind(Settings, document)
    problems += document.problems
    return Layer(kind, document.values, document.place)


def _without(sections: Collection[str], values: Any) -> Any:
    return {key: value for key, value in values.items() if key not in sections} if isinstance(values, dict) else values


def _add_secrets(merged: Merged, environ: Mapping[str, str]) -> None:
    """Fill in secrets where their section is in use: a key left in the environment switches nothing on.

    One that its section cannot do without, such as a webhook's address, does: nobody sets it for nothing.
    """
    for secret in secrets_from(Settings, environ):
        *above, last = (str(key) for key in secret.path[:-1])
        section: Any = merged.values
        for key in above:
            section = section.get(key) if isinstance(section, dict) else None
        if isinstance(section, dict) and section.get(last) is None and is_required(Settings, secret.path):
            section[last] = {}
        section = section.get(last) if isinstance(section, dict) else None
        if isinstance(section, dict):
            section[str(secret.path[-1])] = secret.value
            merged.origins[secret.path] = Origin("environment", secret.place)


def _origins(settings: Settings, merged: Merged) -> dict[str, Origin]:
    return {dotted(path): merged.origins.get(path, DEFAULT) for path, _ in _leaves(settings.model_dump(mode="json"))}


def _leaves(values: Mapping[str, Any], above: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    for key, value in values.items():
        path = (*above, key)
        if isinstance(value, dict) and value:
            yield from _leaves(value, path)
        else:
            yield path, value
