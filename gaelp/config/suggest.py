"""Guess what a mistyped key or name was meant to be."""

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["nearest", "nearest_key"]


def nearest(word: str, allowed: Iterable[str]) -> str:
    """A sentence that offers the allowed word most like this one, or nothing."""
    matches = get_close_matches(word, list(allowed), n=1)
    return f" Did you mean {matches[0]}?" if matches else ""


def nearest_key(key: str, section: str, siblings: Iterable[str], everywhere: Iterable[str]) -> str:
    """Offer the key of the same section most like this one, else a key of that name elsewhere, else nothing."""
    matches = get_close_matches(key, list(siblings), n=1)
    if matches:
        return f" Did you mean {section}.{matches[0]}?" if section else f" Did you mean {matches[0]}?"
    elsewhere = [path for path in everywhere if path.rpartition(".")[2] == key]
    return f" Did you mean {elsewhere[0]}?" if elsewhere else ""
