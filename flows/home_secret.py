"""The secret that a home shares with its own Prefect server: the password to log in, and proof of which home it is."""

import base64
import hashlib
import hmac
import secrets
from pathlib import Path

from flows.environment import prefect_home
from gaelp.config.private_files import read_or_create_private
from gaelp.errors import BadInput
from gaelp.observability import register_secrets

__all__ = ["home_id", "password", "password_file", "proof"]

_MIN_CHARACTERS = 16
_OTHERS = 0o077


def password_file(home: Path) -> Path:
    """The file that holds the password, exactly as a person types it into the UI's login page."""
    return prefect_home(home) / "password"


def password(home: Path) -> str:
    """The password of this home's server, created on first use and hidden in every log line of this process."""
    path = password_file(home)
    text = read_or_create_private(path, lambda: f"gaelp:{secrets.token_urlsafe(32)}")
    if path.stat().st_mode & _OTHERS:
        raise BadInput(f"{path} can be read by others: `chmod 600 {path}`, or delete it to have a new one created")
    if len(text) < _MIN_CHARACTERS or not (text.isascii() and text.isprintable()):
        raise BadInput(
            f"{path} holds {len(text)} characters; allowed: one line of {_MIN_CHARACTERS} or more printable ASCII"
            " characters. Write such a line, or delete the file to have one created"
        )
    register_secrets([text, base64.b64encode(text.encode()).decode()])
    return text


def home_id(home: Path) -> str:
    """A name that no other home has; not a secret."""
    return read_or_create_private(prefect_home(home) / "home-id", lambda: secrets.token_hex(4))


def proof(home_password: str, challenge: str, port: int) -> str:
    """What a server at this port answers to a challenge if it knows the password; it reveals nothing about it.

    The port is part of it, so that another server cannot pass the challenge on and return the answer as its own.
    """
    return hmac.new(home_password.encode(), f"gaelp-server\n{port}\n{challenge}".encode(), hashlib.sha256).hexdigest()
