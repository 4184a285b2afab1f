"""Put layers of values on top of each other and remember for each value which layer it came from."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from gaelp.config.problems import KeyPath

__all__ = ["DEFAULT", "Layer", "LayerKind", "Merged", "Origin"]

LayerKind = Literal["default", "base", "config", "environment", "override"]


@dataclass(frozen=True, slots=True)
class Origin:
    """The layer a value came from and the place in it: a file and line, a variable, an option."""

    layer: LayerKind
    place: str

    def __str__(self) -> str:
        return f"{self.layer}: {self.place}"


DEFAULT = Origin("default", "gaelp/config/settings.py")


@dataclass(frozen=True, slots=True)
class Layer:
    """Values from one source, and the place of each key path in that source."""

    kind: LayerKind
    values: dict[str, Any]
    place: Callable[[KeyPath], str]


@dataclass(frozen=True, slots=True)
class Merged:
    """The values of all layers so far; a later layer wins, mappings are merged, lists are replaced whole."""

    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[KeyPath, Origin] = field(default_factory=dict)

    def add(self, layer: Layer) -> None:
        """Put one more layer on top."""
        self.origins.setdefault((), Origin(layer.kind, layer.place(())))
        self._merge(self.values, layer, layer.values, ())

    def origin(self, path: KeyPath) -> Origin:
        """Where the value at a key path came from, else where the section around it did."""
        while path and path not in self.origins:
            path = path[:-1]
        return self.origins.get(path, DEFAULT)

    def _merge(self, below: dict[str, Any], layer: Layer, above: dict[str, Any], path: KeyPath) -> None:
        for key, value in above.items():
            here = (*path, key)
            if isinstance(value, dict) and isinstance(below.get(key), dict):
                if value:  # problems between the keys of a section are reported where they were last changed
                    self.origins[here] = Origin(layer.kind, layer.place(here))
                self._merge(below[key], layer, value, here)
                continue
            self._forget(here)
            below[key] = {} if isinstance(value, dict) else value
            self.origins[here] = Origin(layer.kind, layer.place(here))
            if isinstance(value, dict):
                self._merge(below[key], layer, value, here)
            elif isinstance(value, list):
                self._trace_list(layer, value, here)

    def _trace_list(self, layer: Layer, values: list[Any], path: KeyPath) -> None:
        for index, value in enumerate(values):
            here = (*path, index)
            self.origins[here] = Origin(layer.kind, layer.place(here))
            if isinstance(value, list):
                self._trace_list(layer, value, here)

    def _forget(self, path: KeyPath) -> None:
        for known in [known for known in self.origins if known[: len(path)] == path]:
            del self.origins[known]
