"""The home, below which a run writes everything: does it exist, and can it be written?"""

import os
import tempfile
from pathlib import Path

from gaelp.config.layers import LoadedSettings
from gaelp.config.places import absolute
from gaelp.errors import ConfigError

__all__ = ["check_home", "existing_part", "require_home"]


def existing_part(home: Path) -> Path:
    """The home folder if it exists, else the closest folder above it that does."""
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


def require_home(loaded: LoadedSettings) -> None:
    """Refuse settings whose home does not exist: what is read there would look empty, and healthy."""
    home = absolute(loaded.settings.home)
    if not home.is_dir():
        raise ConfigError(
            f"there is no home at {home}, which {loaded.origins['home'].place} names: nothing was ever written there."
            " Correct the path, or set GAELP_HOME, or `home` in a config, to the folder you mean;"
            " the first command that writes there creates it: `gaelp run` or `gaelp train` with its first run,"
            " `gaelp keys trust` with the list of approvers, `gaelp ledger create` with a ledger."
        )


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        # Below a folder that may not be searched: the probe then tries that folder.
        return False
