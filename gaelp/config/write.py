"""Write models to YAML or JSON files: each appears whole or not at all, and none before all are ready."""

import errno
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import yaml

from gaelp.config.base import Frozen
from gaelp.config.document import parse_scalar
from gaelp.config.places import shown
from gaelp.errors import ConfigError

__all__ = ["model_text", "write_models", "write_texts"]


def write_models(files: Mapping[Path, Frozen]) -> None:
    """Write each model to its path, as YAML (.yaml) or JSON (.json), the way `write_texts` does."""
    write_texts({path: model_text(path, model) for path, model in files.items()})


def write_texts(texts: Mapping[Path, str]) -> None:
    """Write each text to its path; existing files are replaced at the very end.

    A new file is for its owner alone (600); one that is replaced keeps its rights.
    Every text is on disk under another name before the first file is put in place.
    """
    waiting: list[tuple[Path, Path]] = []
    try:
        for path, text in texts.items():
            waiting.append((_beside(path, text), path))
        while waiting:
            draft, path = waiting[0]
            draft.replace(path)
            waiting.pop(0)
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        where = ", ".join(shown(path) for path in texts)
        raise ConfigError(f"{where} cannot be written: {reason}. Name files in a folder that can be written.") from None
    finally:
        for draft, _ in waiting:
            draft.unlink(missing_ok=True)


class _Dumper(yaml.SafeDumper):
    """Quotes every text that `read_document` would take for a number or a truth, such as 1e3."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None if isinstance(parse_scalar(text), str) else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def model_text(path: Path, model: Frozen) -> str:
    """The model as text in the format that the path's suffix names."""
    if path.suffix == ".json":
        return model.model_dump_json(indent=2) + "\n"
    if path.suffix == ".yaml":
        values = model.model_dump(mode="json")
        return yaml.dump(
            values, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=None, width=120
        )
    raise ConfigError(f"{shown(path)}: saw suffix {path.suffix!r}; allowed: .yaml or .json. Rename the file.")


def _beside(path: Path, text: str) -> Path:
    """The text in a file of the same folder, safe on disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, f"{shown(path)} is a folder")
    handle, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():  # a new one is for its owner alone
            Path(draft).chmod(path.stat().st_mode & 0o777)
    except OSError:
        Path(draft).unlink(missing_ok=True)
        raise
    return Path(draft)
