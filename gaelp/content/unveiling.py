"""Undo what hides a word from a search but not from its reader: markup, encodings, words joined by capitals."""

import html
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

__all__ = ["Reading", "as_written", "decode", "part_words", "readings_of"]

# Who encodes a text twice wants it decoded twice; more often is not worth the time.
_DECODED_TIMES_MAX = 3

_WRAPPED = re.compile(
    r"(?P<tag></?[a-z!][^<>]{0,300}>)"
    r"|(?P<entity>&(?:#[0-9]{1,7};?|#x[0-9a-f]{1,6};?|[a-z][a-z0-9]{1,31};))"
    r"|(?P<percent>(?:%[0-9a-f]{2})+)"
    r"|(?P<escape>\\(?:u[0-9a-f]{4}|x[0-9a-f]{2}))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read a text: text[i] is what original[starts[i]:ends[i]] says."""

    original: str
    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The half-open range of the original behind text[start:end], which must not be empty."""
        return self.starts[start], self.ends[end - 1]


def readings_of(text: str) -> tuple[Reading, ...]:
    """The text as written, decoded, and each of these with joined words parted; equal ones once."""
    written = as_written(text)
    decoded = decode(written)
    every = (written, decoded, part_words(written), part_words(decoded))
    return tuple({reading.text: reading for reading in every}.values())


def as_written(text: str) -> Reading:
    """The reading in which each character stands for itself."""
    places = range(len(text))
    return Reading(text, text, tuple(places), tuple(place + 1 for place in places))


def decode(reading: Reading) -> Reading:
    """Tags dropped; HTML entities, percent-encoding and backslash escapes resolved, nested ones too."""
    for _ in range(_DECODED_TIMES_MAX):
        before, reading = reading, _rewrite(reading, _wrapped_parts(reading.text))
        if reading.text == before.text:
            break
    return reading


def part_words(reading: Reading) -> Reading:
    """A space wherever a capital begins a new word: BuyViagraNow, BUYViagra, AR-15Now."""
    text = reading.text
    seams = (place for place in range(1, len(text)) if _is_seam(text[place - 1 : place + 2]))
    return _rewrite(reading, ((place, place, " ") for place in seams))


def _is_seam(around: str) -> bool:
    """Whether the second of three characters begins a word; the third may be missing."""
    if not around[1].isupper():
        return False
    return around[0].islower() or around[0].isdigit() or (around[0].isupper() and around[2:].islower())


def _wrapped_parts(text: str) -> Iterable[tuple[int, int, str]]:
    return ((*found.span(), _UNWRAP[str(found.lastgroup)](found[0])) for found in _WRAPPED.finditer(text))


def _percent(written: str) -> str:
    """The characters meant; what is no UTF-8 was never encoded, as in 100%acrylic."""
    try:
        return unquote_to_bytes(written).decode("utf-8")
    except UnicodeDecodeError:
        return written


def _escape(written: str) -> str:
    code = int.from_bytes(bytes.fromhex(written[2:]), "big")
    return written if 0xD800 <= code <= 0xDFFF else chr(code)  # half a character says nothing


_UNWRAP: dict[str, Callable[[str], str]] = {
    "tag": lambda _: "",
    "entity": html.unescape,
    "percent": _percent,
    "escape": _escape,
}


def _rewrite(reading: Reading, parts: Iterable[tuple[int, int, str]]) -> Reading:
    """Put each new text in place of text[start:end]; all of it then stands for what was there."""
    texts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    done = 0
    for start, end, new in parts:
        texts += (reading.text[done:start], new)
        starts += reading.starts[done:start]
        ends += reading.ends[done:start]
        begin, stop = reading.span(start, end) if end > start else (reading.starts[start],) * 2
        starts += [begin] * len(new)
        ends += [stop] * len(new)
        done = end
    text = "".join(texts) + reading.text[done:]
    return Reading(reading.original, text, (*starts, *reading.starts[done:]), (*ends, *reading.ends[done:]))
