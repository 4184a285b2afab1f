"""Fold a text to what the eye reads, keeping for each character the place in the original it came from."""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

__all__ = ["RUN_MAX", "Folded", "fold", "is_hidden", "squeeze"]

# Three of a character already show that it is drawn out; no honest word has more.
RUN_MAX = 3

# Letters by category, yet drawn as nothing: the Hangul fillers.
_FILLERS = "\u115f\u1160\u3164\uffa0"
_BLANKS = "\u2800"
_HIDDEN_CATEGORIES = ("Cf", "Mn", "Me")


@dataclass(frozen=True)
class Folded:
    """A folded text; `origins[i]` is the index in `original` of the character that `text[i]` came from."""

    original: str
    text: str
    origins: tuple[int, ...]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The half-open range of the original behind text[start:end], which must not be empty."""
        return self.origins[start], self.origins[end - 1] + 1

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """The places of each character; cached, because every rule asks for them."""
        return self._by_character(range(len(self.text)))

    @cached_property
    def word_starts(self) -> dict[str, list[int]]:
        """The places where each character begins a word: no Latin letter is before it."""
        text = self.text
        return self._by_character(place for place in range(len(text)) if not "a" <= text[place - 1 : place] <= "z")

    def _by_character(self, places: Iterable[int]) -> dict[str, list[int]]:
        by_character: dict[str, list[int]] = {}
        for place in places:
            by_character.setdefault(self.text[place], []).append(place)
        return by_character


def fold(text: str, shapes: Mapping[str, str]) -> Folded:
    """Lower case, compatibility forms and look-alikes resolved; marks and invisible characters dropped.

    Folding a folded text changes nothing.
    """
    known: dict[str, str] = {}
    folded: list[str] = []
    origins: list[int] = []
    for place, character in enumerate(text):
        if character not in known:
            known[character] = _fold_character(character, shapes)
        folded.append(known[character])
        origins.extend([place] * len(known[character]))
    return Folded(text, "".join(folded), tuple(origins))


def squeeze(folded: Folded) -> Folded:
    """Cut each run of one character down to RUN_MAX; the last one kept is the last of the run, so spans stay whole."""
    kept: list[int] = []
    for place, character in enumerate(folded.text):
        if len(kept) >= RUN_MAX and all(folded.text[before] == character for before in kept[-RUN_MAX:]):
            kept[-1] = place
        else:
            kept.append(place)
    text = "".join(folded.text[place] for place in kept)
    return Folded(folded.original, text, tuple(folded.origins[place] for place in kept))


def is_hidden(character: str) -> bool:
    """Whether a character is drawn as nothing or only over its neighbour: zero-width, bidi control, mark, filler."""
    return unicodedata.category(character) in _HIDDEN_CATEGORIES or character in _FILLERS


def _fold_character(character: str, shapes: Mapping[str, str]) -> str:
    """One character to its fixed point; the result is folded again until nothing is left to fold."""
    if character in shapes:
        return shapes[character]
    if is_hidden(character):
        return ""
    if character.isspace() or character in _BLANKS:
        return " "
    compatible = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", character).casefold())
    parts = "".join(part for part in unicodedata.normalize("NFD", compatible) if not is_hidden(part))
    if parts == character:
        return character
    return "".join(_fold_character(part, shapes) for part in parts)
