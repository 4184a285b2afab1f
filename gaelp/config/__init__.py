"""Configuration: pydantic models read from YAML; the only package that reads files or the environment."""

from gaelp.config.base import Frozen
from gaelp.config.curriculum import CurriculumSpec, load_curriculum
from gaelp.config.fingerprint import fingerprint
from gaelp.config.home import check_home
from gaelp.config.inputs import check_inputs
from gaelp.config.layers import LoadedSettings, load_settings
from gaelp.config.load import load_each, load_model
from gaelp.config.market import MarketSpec
from gaelp.config.names import Name, check_name
from gaelp.config.origins import Origin
from gaelp.config.personas import PersonaSet, load_creatives, load_personas
from gaelp.config.places import find_file, find_folder, names_in
from gaelp.config.secret_sources import known_secrets
from gaelp.config.settings import Settings

__all__ = [
    "CurriculumSpec",
    "Frozen",
    "LoadedSettings",
    "MarketSpec",
    "Name",
    "Origin",
    "PersonaSet",
    "Settings",
    "check_home",
    "check_inputs",
    "check_name",
    "find_file",
    "find_folder",
    "fingerprint",
    "known_secrets",
    "load_creatives",
    "load_curriculum",
    "load_each",
    "load_model",
    "load_personas",
    "load_settings",
    "names_in",
]
