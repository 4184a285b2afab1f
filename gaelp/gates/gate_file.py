"""Which file holds the rules of a gate: the shipped one, the project's own, or one that the settings name."""

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
    """The file that a gate was read from, so that whoever approves can see whose rules judged."""

    path: str
    origin: Literal["shipped", "project"]  # project: any file that is not part of this release
    sha256: str = Field(pattern="^[0-9a-f]{64}$")

    @property
    def text(self) -> str:
        """Path, origin and the beginning of the hash, for people to read."""
        return f"{self.path} ({self.origin}, sha256 {self.sha256[:_SHOWN_DIGITS]})"


def gate_path(path_or_name: str | Path, settings: GateSettings | None = None) -> Path:
    """The file of a gate: the one that settings name, else the one found by its name, or by its path.

    Where settings ask for the shipped files, a file in configs/gates of the current folder does not replace one: it is
    refused, because whoever put it there expects it to count.
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
    """What a verdict records of the file that judged."""
    origin: Literal["shipped", "project"] = "shipped" if _is_shipped(path) else "project"
    return GateFile(path=shown(path), origin=origin, sha256=hashlib.sha256(path.read_bytes()).hexdigest())


def _is_shipped(path: Path) -> bool:
    return path.resolve().parent == (repository_root() / "configs" / _FOLDER).resolve()
