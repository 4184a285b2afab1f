"""Undo what hides a word from a search but not from its reader: encodings, markup, words joined by capitals."""

import html
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

__all__ = ["TextReading", "as_written", "decode", "is_still_encoded", "part_words", "readings_of", "unmark"]

# Who encodes a text twice wants it decoded twice; what is encoded more often than this goes to a person.
_DECODED_TIMES_MAX = 10
_CODE_POINT_MAX = 0x10FFFF

_WRAPPED = re.compile(
    r"(?P<tag></?[a-z!][^<>]{0,300}>)"
    r"|(?P<entity>&(?:#[0-9]{1,7};?|#x[0-9a-f]{1,6};?|[a-z][a-z0-9]{1,31};))"
    r"|(?P<percent>(?:%[0-9a-f]{2})+)"
    r"|(?P<escape>%u[0-9a-f]{4}|\\(?:(?-i:U)[0-9a-f]{8}|u[0-9a-f]{4}|x[0-9a-f]{2}|[ux]\{[0-9a-f]{1,8}\}))",
    re.IGNORECASE,
)
# Escapes that a plain text may hold by chance ("1 inch=25mm"): each is only one more way to read it.
_OCTAL_OR_QUOTED = re.compile(r"\\(?P<octal>[0-7]{3})|=(?P<quoted>[0-9a-f]{2})", re.IGNORECASE)
_STYLE = re.compile(r"\\(?P<hex>[0-9a-f]{2,6}) ?", re.IGNORECASE)
# Markup in brackets: [b] and [/b], the address of [text](address), {x}, {{x}} and ${x}, TeX's \textbf{text}.
_MARKS = re.compile(
    r"\[/?[a-z*][^\[\]]{0,80}\](?!\()"
    r"|\[(?=[^\[\]]{0,200}\]\()|\]\([^()]{0,300}\)"
    r"|\\[a-z]{2,20}\*?\{|\$?\{{1,3}[^{}]{0,80}\}{1,3}|\}",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class TextReading:
    """One way to read a text: text[i] is what original[starts[i]:ends[i]] says."""

    original: str
    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The half-open range of the original behind text[start:end], which must not be empty."""
        return self.starts[start], self.ends[end - 1]


def readings_of(text: str) -> tuple[TextReading, ...]:
    """The text as written, decoded in each way, without marks, and all of these with joined words parted; each once."""
    written = as_written(text)
    decoded = decode(written)
    whole = (written, decoded, unmark(decoded), _decode_octal_or_quoted(decoded), _decode_style(decoded))
    return _distinct((*whole, *map(part_words, _distinct(whole))))


def _distinct(readings: Iterable[TextReading]) -> tuple[TextReading, ...]:
    return tuple({reading.text: reading for reading in readings}.values())


def as_written(text: str) -> TextReading:
    """The text itself as a reading: each character means itself."""
    places = range(len(text))
    return TextReading(text, text, tuple(places), tuple(place + 1 for place in places))


def decode(reading: TextReading) -> TextReading:
    """Tags dropped; HTML entities, percent-encoding and backslash escapes resolved, nested ones too."""
    for _ in range(_DECODED_TIMES_MAX):
        before, reading = reading, _decode_once(reading)
        if reading.text == before.text:
            break
    return reading


def is_still_encoded(text: str) -> bool:
    """Whether a text is wrapped more often than decode undoes."""
    decoded = decode(as_written(text))
    return _decode_once(decoded).text != decoded.text


def unmark(reading: TextReading) -> TextReading:
    """Markup in brackets dropped: cas[b]ino[/b], [cas](address)ino, cas\\textbf{ino}, cas{x}ino."""
    return _rewrite(reading, ((*match.span(), "") for match in _MARKS.finditer(reading.text)))


def part_words(reading: TextReading) -> TextReading:
    """A space wherever a capital begins a new word: BuyViagraNow, BUYViagra, AR-15Now."""
    text = reading.text
    seams = (place for place in range(1, len(text)) if _is_seam(text[place - 1 : place + 2]))
    return _rewrite(reading, ((place, place, " ") for place in seams))


def _is_seam(around: str) -> bool:
    """Whether the second of three characters begins a word; the third may be missing."""
    if not around[1].isupper():
        return False
    return around[0].islower() or around[0].isdigit() or (around[0].isupper() and around[2:].islower())


def _decode_once(reading: TextReading) -> TextReading:
    matches = _WRAPPED.finditer(reading.text)
    return _rewrite(reading, ((*match.span(), _UNWRAP[str(match.lastgroup)](match[0])) for match in matches))


def _decode_octal_or_quoted(reading: TextReading) -> TextReading:
    """The escapes \\143 and =63, as programs and mail write a c."""
    matches = _OCTAL_OR_QUOTED.finditer(reading.text)
    base = {"octal": 8, "quoted": 16}
    return _rewrite(
        reading,
        ((*match.span(), chr(int(match[match.lastindex or 0], base[str(match.lastgroup)]))) for match in matches),
    )


def _decode_style(reading: TextReading) -> TextReading:
    """The escape \\63 and the space that ends it, as style sheets write a c."""
    return _rewrite(
        reading, ((*match.span(), _character(match["hex"], match[0])) for match in _STYLE.finditer(reading.text))
    )


def _percent(written: str) -> str:
    """The characters meant; what is no UTF-8 was never encoded, as in 100%acrylic."""
    try:
        return unquote_to_bytes(written).decode("utf-8")
    except UnicodeDecodeError:
        return written


def _escape(written: str) -> str:
    return _character(written[2:].strip("{}"), written)


def _character(digits: str, written: str) -> str:
    """The character of that hexadecimal number; half a one or none says nothing, and stays as it is written."""
    code = int(digits, 16)
    return written if 0xD800 <= code <= 0xDFFF or code > _CODE_POINT_MAX else chr(code)


_UNWRAP: dict[str, Callable[[str], str]] = {
    "tag": lambda _: "",
    "entity": html.unescape,
    "percent": _percent,
    "escape": _escape,
}


def _rewrite(reading: TextReading, parts: Iterable[tuple[int, int, str]]) -> TextReading:
    """Put each new text in place of text[start:end]; each of its characters then refers to the replaced range."""
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
    return TextReading(reading.original, text, (*starts, *reading.starts[done:]), (*ends, *reading.ends[done:]))
