"""Configuration: pydantic models read from YAML; the only package that reads files or the environment."""

from gaelp.config.base import Frozen
from gaelp.config.fingerprint import fingerprint
from gaelp.config.home import check_home, require_home
from gaelp.config.layers import LoadedSettings, load_settings
from gaelp.config.load import load_model
from gaelp.config.names import Name, check_name
from gaelp.config.origins import Origin
from gaelp.config.places import find_file, find_folder, names_in
from gaelp.config.secret_sources import known_secrets
from gaelp.config.settings import Settings

__all__ = [
    "Frozen",
    "LoadedSettings",
    "Name",
    "Origin",
    "Settings",
    "check_home",
    "check_name",
    "find_file",
    "find_folder",
    "fingerprint",
    "known_secrets",
    "load_model",
    "load_settings",
    "names_in",
    "require_home",
]
