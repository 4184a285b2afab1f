"""Find the file with the rules of a gate: the shipped one, the project's own, or one named in the settings."""

import hashlib
from pathlib import Path
from typing import Literal

from pydantic import Field

from gaelp.config.base import Frozen
from gaelp.config.places import find_file, repository_root, shown
from gaelp.config.settings import GateSettings
from gaelp.errors import ConfigError

__all__ = ["GateFile", "describe_gate_file", "gate_path"]

_FOLDER = "gates"
_SHOWN_DIGITS = 12


class GateFile(Frozen):
    """The file that a gate was read from, so that an approver can see whose rules were applied."""

    path: str
    origin: Literal["shipped", "project"]  # project: any file that is not part of this release
    sha256: str = Field(pattern="^[0-9a-f]{64}$")

    @property
    def text(self) -> str:
        """Path, origin and the beginning of the hash, for people to read."""
        return f"{self.path} ({self.origin}, sha256 {self.sha256[:_SHOWN_DIGITS]})"


def gate_path(path_or_name: str | Path, settings: GateSettings | None = None) -> Path:
    """Return the file of a gate: the one that settings name, else the one found by its name or path.

    With `source: shipped`, a file in configs/gates of the current folder is refused rather than ignored, because
    whoever put it there expects it to be used.
    """
    named = settings.files.get(str(path_or_name)) if settings else None
    if named is not None:
        return find_file(named, _FOLDER)
    path = find_file(path_or_name, _FOLDER)
    if settings is not None and settings.source == "shipped" and not _is_shipped(path):
        raise ConfigError(
            f"{shown(path)} would replace the shipped gate {str(path_or_name)!r}; allowed with gate.source: shipped are"
            f" the gates of this release. Name the file under gate.files.{path_or_name} if its rules are to judge, or"
            " move it away"
        )
    return path


def describe_gate_file(path: Path) -> GateFile:
    """Return what a verdict records about the file of its rules."""
    origin: Literal["shipped", "project"] = "shipped" if _is_shipped(path) else "project"
    return GateFile(path=shown(path), origin=origin, sha256=hashlib.sha256(path.read_bytes()).hexdigest())


def _is_shipped(path: Path) -> bool:
    return path.resolve().parent == (repository_root() / "configs" / _FOLDER).resolve()
