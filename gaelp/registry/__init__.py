"""Signed model versions and their aliases: champion, challenger, previous."""

from gaelp.registry.aliases import ALIASES, Aliases, AliasMove
from gaelp.registry.manifest import DataWindow, ModelManifest
from gaelp.registry.passed import register_passed
from gaelp.registry.refusals import Tampered
from gaelp.registry.registry import Registry, open_registry, restore_mlflow
from gaelp.registry.verified import VerifiedVersion

__all__ = [
    "ALIASES",
    "AliasMove",
    "Aliases",
    "DataWindow",
    "ModelManifest",
    "Registry",
    "Tampered",
    "VerifiedVersion",
    "open_registry",
    "register_passed",
    "restore_mlflow",
]
