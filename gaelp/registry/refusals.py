"""What the registry raises if something stored is not what was signed."""

from gaelp.errors import Refused

__all__ = ["Tampered"]


class Tampered(Refused):
    """A file, a manifest, a record or an alias is not what was registered; nothing of it is used."""
