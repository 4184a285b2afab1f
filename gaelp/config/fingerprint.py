"""A hash that identifies a configuration by its checked values alone."""

import hashlib
import json

from pydantic import BaseModel

__all__ = ["fingerprint"]


def fingerprint(model: BaseModel) -> str:
    """SHA-256 (hex) of the values as canonical JSON; order and form do not count, of a secret only its presence."""
    # In JSON mode pydantic writes stars for a secret that is set and null for one that is not.
    values = model.model_dump(mode="json")
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
