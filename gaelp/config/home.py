"""The folder below which a run writes everything: whether it can be written, and where it is."""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from gaelp.config.document import read_document
from gaelp.config.environment import HOME_VARIABLE
from gaelp.config.places import absolute, find_file
from gaelp.config.secret_sources import PREFIX
from gaelp.errors import ConfigError

__all__ = ["check_home", "existing_part", "probable_home"]


def existing_part(home: Path) -> Path:
    """The home folder if it is there, else the closest folder above it that is."""
    path = absolute(home)
    while not _is_there(path) and path != path.parent:
        path = path.parent
    return path


def check_home(home: Path) -> None:
    """Refuse a home that a run could not write to; nothing is created."""
    try:
        place = existing_part(home)
        with os.scandir(place), tempfile.TemporaryFile(dir=place) as probe:
            probe.write(b"gaelp")
            probe.flush()
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        raise ConfigError(
            f"home: {str(home)!r} cannot be written: {reason}; allowed: a folder, or a path where one can be made."
            " Set GAELP_HOME or `home` to another folder, or change its permissions."
        ) from None


def probable_home(config: str | None, overrides: Sequence[str]) -> Path:
    """The home as far as it can be told where the settings cannot be used, in the order in which they are laid."""
    given = dict(text.split("=", 1) for text in overrides if "=" in text)
    named = given.get("home") or os.environ.get(HOME_VARIABLE) or os.environ.get(f"{PREFIX}HOME")
    return absolute(named or _home_in(config) or _home_in("base") or ".gaelp")


def _home_in(config: str | None) -> str | None:
    """What a config says of the home, even if nothing else in it is right."""
    if config is None:
        return None
    try:
        home = read_document(find_file(config)).values["home"]
    except Exception:  # noqa: BLE001 - a config that cannot be read says nothing
        return None
    return home if isinstance(home, str) else None


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        # Below a folder that may not be searched; that folder is then the one that is tried.
        return False
