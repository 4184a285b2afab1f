"""The key that the registry signs with: made on first use, in the home, for its owner alone."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from gaelp.approvals.keys import SigningKey, load_key, new_key, save_key
from gaelp.config.places import absolute, shown
from gaelp.config.settings import Settings
from gaelp.errors import Refused
from gaelp.registry.refusals import Tampered

__all__ = ["KEY_NAME", "check_key_file", "key_place", "make_key", "signing_key"]

KEY_NAME = "model-registry"


def key_place(settings: Settings) -> Path:
    """Where the private key of a home's registry is."""
    return absolute(settings.home) / "registry.key"


def make_key(path: Path) -> SigningKey:
    """The key in the file, made if there is none: the file appears whole or not at all."""
    if not path.exists():
        draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        try:
            save_key(new_key(KEY_NAME), draft, None)
            with suppress(FileExistsError):
                os.link(draft, path)  # unlike a rename, it replaces nothing
        finally:
            draft.unlink(missing_ok=True)
    return load_key(path)


def signing_key(path: Path, public_key: str) -> SigningKey:
    """The private key that belongs to the recorded public key; Refused if it is gone or another one."""
    if not path.exists():
        raise Refused(
            f"the registry's private key {shown(path)} is gone: nothing can be registered or promoted, though what is"
            " registered can still be verified. Restore the file from a backup of the home."
        )
    key = load_key(path)
    if key.public_key != public_key:
        raise Tampered(
            f"{shown(path)} is the key {key.public_key[:16]}…; the registry was begun with {public_key[:16]}…: the file"
            " was replaced. Restore it from a backup of the home."
        )
    return key


def check_key_file(path: Path, public_key: str) -> None:
    """Raise Tampered if there is a key file and it is not the registry's; without one, reading is still possible."""
    if path.exists():
        signing_key(path, public_key)
