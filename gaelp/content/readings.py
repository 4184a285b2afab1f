"""Readings of a disguised text in plain letters, for a scorer that knows words but no tricks."""

import itertools
import re
from collections.abc import Mapping

from gaelp.content.folding import fold
from gaelp.content.look_alikes import LookAlikes

__all__ = ["plain_readings"]

_SPELLED_OUT = re.compile(r"(?<![^\W_])[^\W_](?:[^a-z0-9]{1,3}[^\W_]){2,}(?![^\W_])")
_INNER_SIGNS = re.compile(r"(?<=[a-z])[^a-z0-9\s'’]{1,3}(?=[a-z])")
_DRAWN_OUT = re.compile(r"([a-z])\1{2,}")
_WORD = re.compile(r"\S+")

# The one-character signs with two common readings; all others have one.
_AMBIGUOUS = ({"1": "i", "!": "i", "|": "i"}, {"1": "l", "!": "i", "|": "l"})


def plain_readings(text: str, look_alikes: LookAlikes) -> tuple[str, ...]:
    """The text as folded, and with replaced letters, inner signs and drawn-out letters resolved; each reading once."""
    folded = fold(text, look_alikes.shapes).text
    tables = [{**_single_stand_ins(look_alikes), **choice} for choice in _AMBIGUOUS]
    resolved = [_resolve(start, table) for start, table in itertools.product((folded, _joined(folded)), tables)]
    return tuple(dict.fromkeys([folded, *resolved]))


def _joined(text: str) -> str:
    return _SPELLED_OUT.sub(lambda match: re.sub(r"[^a-z0-9]", "", match[0]), text)


def _resolve(text: str, table: Mapping[str, str]) -> str:
    lettered = _WORD.sub(lambda match: _word(match[0], table), text)
    return _DRAWN_OUT.sub(r"\1", _INNER_SIGNS.sub("", lettered))


def _word(word: str, table: Mapping[str, str]) -> str:
    """A word with replaced letters restored; a number stays a number, and a sign at the end a sign."""
    if sum(map(str.isdigit, word)) > sum(map(str.isalpha, word)) or not any(map(str.isalpha, word)):
        return word
    body = word.rstrip("!.,?")
    return "".join(table.get(character, character) for character in body) + word[len(body) :]


def _single_stand_ins(look_alikes: LookAlikes) -> dict[str, str]:
    """Each sign and the first letter it may replace; letters that replace letters are left alone."""
    table: dict[str, str] = {}
    for letter, signs in look_alikes.stand_ins.items():
        for sign in signs:
            if len(sign) == 1 and not sign.isalpha():
                table.setdefault(sign, letter)
    return table
