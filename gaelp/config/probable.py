"""The home that settings which cannot be loaded probably name: enough to stop spending."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gaelp.config.document import read_document
from gaelp.config.environment import HOME_VARIABLE
from gaelp.config.places import absolute, find_file
from gaelp.config.secret_sources import PREFIX

__all__ = ["probable_home"]


def probable_home(config: str | None, overrides: Sequence[str]) -> Path:
    """The home that the layers name, in their order of precedence."""
    return absolute(_probable(("home",), config, overrides, HOME_VARIABLE) or ".gaelp")


def _probable(keys: tuple[str, ...], config: str | None, overrides: Sequence[str], *variables: str) -> str | None:
    given = dict(text.split("=", 1) for text in overrides if "=" in text)
    from_environment = (os.environ.get(name) for name in (*variables, PREFIX + "__".join(keys).upper()))
    return given.get(".".join(keys)) or next(filter(None, from_environment), None) or _in_files(keys, config)


def _in_files(keys: tuple[str, ...], config: str | None) -> str | None:
    for file in filter(None, (config, "base")):
        try:
            value: Any = read_document(find_file(file)).values
            for key in keys:
                value = value[key]
        except Exception:  # noqa: BLE001, S112 - a file that cannot be read says nothing
            continue
        if isinstance(value, str):
            return value
    return None
