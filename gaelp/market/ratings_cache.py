"""Ratings on disk, one file per prompt: written atomically, checked when read, never trusted when damaged."""

import hashlib
import json
import logging
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from gaelp.config.base import Frozen
from gaelp.errors import ConfigError

__all__ = ["RatingsCache", "prompt_hash"]

_LOG = logging.getLogger(__name__)


class _Entry(Frozen):
    """One file: the answer, and a digest of it and of the prompt it belongs to."""

    version: Literal[1] = 1
    scores: dict[str, float]
    digest: str


@dataclass(frozen=True, slots=True)
class RatingsCache:
    """A folder of rated prompts; only scores are kept, so that no secret an endpoint may echo reaches the disk."""

    folder: Path

    def prepare(self) -> None:
        """Make sure that answers can be kept before any is paid for."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except OSError as problem:
            raise self._unusable(problem) from None

    def load(self, prompt: str) -> dict[str, float] | None:
        """The scores kept under a prompt hash; None if there are none or, with a warning, if the file is damaged."""
        path = self._path(prompt)
        try:
            entry = _Entry.model_validate_json(path.read_bytes(), strict=True)
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise self._unusable(problem) from None
        except ValidationError as problem:
            self.reject(prompt, f"{problem.error_count()} fields do not fit the format of an entry")
            return None
        if entry.digest != _digest(prompt, entry.scores):
            self.reject(prompt, "its digest does not match its content")
            return None
        return entry.scores

    def store(self, prompt: str, scores: Mapping[str, float]) -> None:
        """Keep scores under a prompt hash; a reader sees the old file or the new one, never a part."""
        entry = _Entry(scores=dict(scores), digest=_digest(prompt, scores))
        try:
            _replace(self._path(prompt), entry.model_dump_json(indent=1))
        except OSError as problem:
            raise self._unusable(problem) from None

    def reject(self, prompt: str, reason: str) -> None:
        """Warn that an entry is not used; the next store replaces it."""
        _LOG.warning("cached rating %s refused: %s; it is fetched again", self._path(prompt), reason)

    def _path(self, prompt: str) -> Path:
        return self.folder / f"{prompt}.json"

    def _unusable(self, problem: OSError) -> ConfigError:
        reason = problem.strerror or type(problem).__name__
        return ConfigError(
            f"cache_folder {str(self.folder)!r} cannot be used: {reason}; allowed: a folder that can be read and"
            " written. Name another one or change its permissions."
        )


def prompt_hash(model: str, prompt: str) -> str:
    """SHA-256 of model and prompt, in hexadecimal: the name of the cache entry."""
    return hashlib.sha256(json.dumps([model, prompt]).encode()).hexdigest()


def _digest(prompt: str, scores: Mapping[str, float]) -> str:
    content = {name: float(score) for name, score in scores.items()}
    return hashlib.sha256(json.dumps([prompt, content], sort_keys=True).encode()).hexdigest()


def _replace(path: Path, text: str) -> None:
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".", suffix=".part", delete=False) as file:
        temporary = Path(file.name)
        try:
            file.write(text)
            file.close()
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
