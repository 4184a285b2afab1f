"""Refuse a file of another kind before anything in it is reported: what was named by mistake may hold secrets."""

from pydantic import BaseModel

from gaelp.config.document import Document
from gaelp.config.schema import keys_at, leaf_keys
from gaelp.config.suggest import nearest_key
from gaelp.errors import BadInput, ConfigError

__all__ = ["check_kind"]


def check_kind(model: type[BaseModel], document: Document, *, error: type[BadInput] = ConfigError) -> None:
    """Raise unless a key of the file is a key of the model, or every key looks like a mistyped one."""
    allowed = keys_at(model, ())
    if not document.values or any(key in allowed for key in document.values):
        return
    everywhere = [".".join(path) for path in leaf_keys(model)]
    if not all(nearest_key(key, "", allowed, everywhere) for key in document.values):
        raise error(
            f"{document.source} has none of the expected keys ({', '.join(allowed)}), so it is another kind of file."
            " Its contents are not shown because they may be secret. Name another file."
        )
