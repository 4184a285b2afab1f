"""Forbidden terms: a small language for writing them, and a search that sees through disguise.

A term is words with these signs: `[buy|sell]` alternatives of one or more words, `swear*` any ending, `*swear` any
beginning, `#` a number, `..` up to three words in between. All that is not a letter, a digit or % separates.
"""

import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from gaelp.content.folding import RUN_MAX, Folded
from gaelp.content.look_alikes import LookAlikes

__all__ = ["Match", "Term", "compile_exception", "compile_terms", "find", "innocent_spans"]

Form = Literal["plain", "disguised", "split"]

# Every repetition is bounded, and no sign can be taken in more than two ways, so that no text makes a search slow.
# Three signs between letters are a disguise; more are the end of a sentence or a rule of dots.
_GAP = "[^a-z0-9]{0,3}"
_WORD_GAP = "[^a-z0-9]{0,4}"
_FEW_WORDS = "(?:[^a-z0-9]{1,4}[a-z0-9]{1,20}){0,3}[^a-z0-9]{1,4}"
_NUMBER = "[0-9](?:[^a-z0-9]{0,2}[0-9]){0,8}k?"
_NUMBER_WORD = "#"
# Before a word these are brackets, not letters: "(until".
_BRACKETS = frozenset("([{<")
# What the names of groups begin with: a word in letters and look-alikes, or with letters blotted out as in d*mn.
_WRITTEN, _BLOTTED = "w", "b"
_FEW = ".."
_JOINT = r"[\s-]+"  # between the words of an innocent phrase
_SLOT = re.compile(r"\[([^\]]*)\]|(\S+)")

# One sign and a space; a row of dots is a pause, and a sign between letters a disguise.
_FULL_STOP = re.compile(r"(?:^|[a-z0-9])[.!?]\s")

# A word this short, cut by a space or with a doubled letter, is too often an honest one: "as s...", "good" for "god".
_SHORT = 3

# Hundreds of patterns take a second: checkers of one process share them.
_pattern = lru_cache(maxsize=4096)(re.compile)


@dataclass(frozen=True, slots=True)
class Term:
    """A term as a pattern; each group of the pattern is one of its words, those of alternatives included."""

    written: str
    words: Mapping[str, str]
    pattern: re.Pattern[str]
    first: frozenset[str]  # the characters it can begin with
    inside_words: bool  # whether it may begin in the middle of a word


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a term as it is meant, as it is written in the text, and whether some letters are blotted out."""

    meant: str
    written: str
    blotted: bool


@dataclass(frozen=True, slots=True)
class Match:
    """A term found at folded.text[start:end].

    `split` means cut by spaces like two words, or by the end of a sentence: by chance or not, a person should see it.
    """

    term: str
    start: int
    end: int
    form: Form


def compile_terms(written: Iterable[str], look_alikes: LookAlikes) -> tuple[Term, ...]:
    """Every written term, ready to be searched for."""
    signs = _signs(look_alikes)
    return tuple(_Compiler(signs, look_alikes.blots).compile(text) for text in dict.fromkeys(written))


def compile_exception(text: str) -> re.Pattern[str]:
    """An innocent phrase, found only as it is written, between word boundaries; `*` at its end is any ending.

    `[oak|pine tree]` are alternatives, as in a term, and `_` is any one word.
    """
    slots = [slot or word for slot, word in _SLOT.findall(text.lower().rstrip("*"))]
    phrases = ["|".join(_JOINT.join(map(_as_written, phrase.split())) for phrase in slot.split("|")) for slot in slots]
    ending = "[a-z]*" if text.endswith("*") else "(?![a-z])"
    return _pattern(r"(?<![a-z])" + _JOINT.join(f"(?:{phrase})" for phrase in phrases) + ending)


def _as_written(word: str) -> str:
    return "[a-z]{2,}" if word == "_" else re.sub("['’]", "['’]", re.escape(word))


def innocent_spans(text: str, exceptions: Iterable[re.Pattern[str]]) -> list[tuple[int, int]]:
    """The places of innocent phrases in a folded text."""
    return [match.span() for pattern in exceptions for match in pattern.finditer(text)]


def find(folded: Folded, terms: Sequence[Term], exceptions: Iterable[re.Pattern[str]]) -> Iterator[Match]:
    """Each occurrence of a term that no exception covers."""
    text = folded.text
    innocent: list[tuple[int, int]] | None = None  # looked for once there is something that they may cover
    # Hundreds of patterns at a few word starts each are ten times faster than a search through the text with each.
    for term in terms:
        begins = folded.places if term.inside_words else folded.word_starts
        places = sorted(place for character in term.first.intersection(begins) for place in begins[character])
        for match in _matches(term, text, places):
            innocent = innocent_spans(text, exceptions) if innocent is None else innocent
            if not any(start <= match.start and match.end <= end for start, end in innocent):
                yield match


def _matches(term: Term, text: str, places: Iterable[int]) -> Iterator[Match]:
    done = 0
    for place in places:
        if place < done:
            continue
        match = term.pattern.match(text, place)
        if match is None:
            continue
        groups = [group for group, part in match.groupdict().items() if part is not None]
        words = [_Word(term.words[group], match[group], group.startswith(_BLOTTED)) for group in groups]
        form = _form(words, match, has_ending=match.end() > match.end(groups[-1]))
        if form is not None:
            form = "split" if _holds_full_stop(match, groups) else form
            yield Match(" ".join(word.meant for word in words), place, match.end(), form)
            done = match.end()


def _holds_full_stop(match: re.Match[str], groups: Sequence[str]) -> bool:
    """Whether a sentence ends between two words: "Quality guaranteed. Profits go up", but also "Get rich. Fast"."""
    gaps = (match.string[match.end(word) : match.start(following)] for word, following in pairwise(groups))
    return any(_FULL_STOP.search(gap) for gap in gaps)


def _form(words: Sequence[_Word], match: re.Match[str], *, has_ending: bool) -> Form | None:
    """How the term is written here; None where it is not the term after all."""
    forms = set(map(_word_form, words))
    if None in forms or not _reads_as_letters([word for word in words if word.meant.isalpha()]):
        return None
    form: Form = "split" if "split" in forms else "disguised" if "disguised" in forms else "plain"
    text, start, end = match.string, match.start(), match.end()
    if form != "plain" and _letter_at(text, start - 1):
        return None  # "push-it" holds no swear word; only plain letters count inside a longer word
    if form == "split" and (has_ending or re.search(r"[a-z]['’]$", text[max(0, start - 2) : start])):
        return None  # "it's hit", "who received"
    if any(word.blotted for word in words) and _is_part_of_longer_run(text, start, end):
        return None  # "p.o.u.n.d.s" holds no n.d.s
    return form


def _word_form(word: _Word) -> Form | None:
    meant, written = word.meant, word.written
    if meant in (written, _NUMBER_WORD) or not meant.isalpha():
        return "plain"
    if word.blotted and sum(map(str.isalpha, written)) < len(meant) / 2:
        return None  # blotted out beyond recognition
    letters, pieces = "".join(filter(str.isalpha, written)), written.split()
    if len(pieces) == 1 or all(len(set(filter(str.isalnum, piece))) <= 1 for piece in pieces):
        # A short word both cut up and replaced is a formula, such as ^(s/5.
        is_formula = len(meant) <= _SHORT and len(letters) < len(meant) < len(written)
        return None if is_formula else "disguised"
    # Cut like two words is doubt enough: "an AI" is no swear word with an I for an l.
    return "split" if len(meant) > _SHORT and letters == meant else None


def _reads_as_letters(words: Sequence[_Word]) -> bool:
    """455 is a number and A55 a telephone: enough of a term has to be letters before its digits are read as such."""
    written = "".join(word.written for word in words)
    letters, digits = sum(map(str.isalpha, written)), sum(map(str.isdigit, written))
    return digits <= letters * (1 if sum(len(word.meant) for word in words) <= _SHORT + 1 else 2)


def _letter_at(text: str, place: int) -> bool:
    """Is there a Latin letter? One of another script ends a word, as a sign does."""
    return 0 <= place < len(text) and "a" <= text[place] <= "z"


def _is_part_of_longer_run(text: str, start: int, end: int) -> bool:
    """Whether the same run of signs and letters, without a space, began before or continues after."""
    left, right = re.search(r"\S{0,9}$", text[max(0, start - 9) : start]), re.match(r"\S{0,9}", text[end : end + 9])
    return any(map(str.isalpha, (left[0] if left else "") + (right[0] if right else "")))


def _signs(look_alikes: LookAlikes) -> dict[str, tuple[str, ...]]:
    """For each character of a term all that may be read as it, itself included."""
    letters = {letter: (letter, *look_alikes.stand_ins.get(letter, ())) for letter in string.ascii_lowercase}
    return {**letters, "0": ("0", "o"), "1": ("1", "l", "i"), "%": ("%", "percent", "per cent")}


class _Compiler:
    """Builds the pattern of one term and names a group for each of its words."""

    def __init__(self, signs: Mapping[str, tuple[str, ...]], blots: str) -> None:
        self._signs = signs
        self._blots = blots
        self._words: dict[str, str] = {}

    def compile(self, written: str) -> Term:
        slots = [slot or word for slot, word in _SLOT.findall(written.lower())]
        pattern, gap = "", ""
        for slot in slots:
            if slot == _FEW:
                gap = _FEW_WORDS
                continue
            pattern += gap + "(?:" + "|".join(map(self._phrase, slot.split("|"))) + ")"
            gap = _WORD_GAP
        first = {sign for phrase in slots[0].split("|") for sign in self._first(phrase.split()[0])}
        end = "[a-z0-9]*" if slots[-1].endswith("*") else "(?![a-z])"
        return Term(written, self._words, _pattern(pattern + end), frozenset(first), slots[0].startswith("*"))

    def _phrase(self, phrase: str) -> str:
        return _WORD_GAP.join(map(self._word, phrase.split()))

    def _word(self, word: str) -> str:
        bare = _bare(word)
        number = len(self._words)
        self._words[f"{_WRITTEN}{number}"] = bare
        pattern = f"(?P<{_WRITTEN}{number}>{_word_pattern(bare, self._signs)})"
        if len(bare) <= _SHORT or not bare.isalpha():
            return pattern
        self._words[f"{_BLOTTED}{number}"] = bare
        inner = "".join(f"[{character}{re.escape(self._blots)}]" for character in bare[1:-1])
        return f"(?:{pattern}|(?P<{_BLOTTED}{number}>{bare[0]}{inner}{bare[-1]}))"

    def _first(self, word: str) -> Iterable[str]:
        """The characters that a word can begin with in any reading."""
        bare = _bare(word)
        if bare == _NUMBER_WORD:
            return "0123456789"
        return {sign[0] for sign in self._signs.get(bare[0], (bare[0],))} - _BRACKETS


def _bare(word: str) -> str:
    return re.sub(r"[^a-z0-9%#]", "", word)


def _word_pattern(word: str, signs: Mapping[str, tuple[str, ...]]) -> str:
    if word == _NUMBER_WORD:
        return _NUMBER
    return _GAP.join(_letter(word, place, signs) for place in range(len(word)))


def _letter(word: str, place: int, signs: Mapping[str, tuple[str, ...]]) -> str:
    """One letter in all its readings; of these only letters are drawn out, never signs.

    A short word with a doubled letter, or any with its last one doubled, is often another word: "assess", "brass". In
    these a letter is single or clearly drawn out, which is RUN_MAX times in a squeezed text.
    """
    character = word[place]
    readings = signs.get(character, (character,))
    continues, began = word[place + 1 : place + 2] == character, place > 0 and word[place - 1] == character
    if not character.isalpha() or continues:
        often = "{0}"
    elif not began and (len(word) <= _SHORT or place + 1 == len(word)):
        often = f"(?:{{0}}){{{{{RUN_MAX}}}}}|{{0}}"
    else:
        often = f"(?:{{0}}){{{{1,{RUN_MAX}}}}}"
    drawn_out = [often.format(reading) for reading in readings if reading.isalpha()]
    once = [re.escape(reading) for reading in readings if not reading.isalpha()]
    return f"(?:{'|'.join([*drawn_out, *once])})"
