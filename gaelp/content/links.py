"""Addresses in the text of an advert: a reader may follow them, so they have to be the advertiser's."""

import re
from collections.abc import Iterator, Sequence

from gaelp.content.creative import PRINTED_FIELDS, Creative
from gaelp.content.destination import home_of, host_of, is_within
from gaelp.content.folding import Folded, fold
from gaelp.content.look_alikes import LookAlikes
from gaelp.content.policy import Brand, ContentPolicy
from gaelp.content.unveiling import TextReading, as_written, decode
from gaelp.content.verdict import ContentFinding

__all__ = ["check_links"]

_LABEL = r"[^\W_](?:[\w-]{0,61}[^\W_])?"
# A dot, also as people write it to keep a link from being seen: evil[.]com, evil(dot)com, the full stop of Chinese.
_DOT = r"(?:[.。]|[\[(](?:\.|dot)[\])])"
_ADDRESS = re.compile(
    r"(?P<scheme>\b(?:[a-z][a-z0-9+.-]{1,20}:[/\\]{2,}|(?:javascript|mailto):)[^\s/\\?#<>\"'()\[\]]{1,253})"
    rf"|(?<![^\W_])(?P<bare>{_LABEL}(?:{_DOT}{_LABEL}){{1,20}})",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}")


def check_links(
    creative: Creative, brand: Brand | None, policy: ContentPolicy, look_alikes: LookAlikes
) -> list[ContentFinding]:
    """Every address in headline, description and call to action that is none of the advertiser's."""
    home = home_of(creative, brand)
    return [
        _finding(field, text, span, home)
        for field in PRINTED_FIELDS
        for text in (getattr(creative, field),)
        for span in dict.fromkeys(_foreign(text, home, policy, look_alikes))
    ]


def _foreign(
    text: str, home: Sequence[str], policy: ContentPolicy, look_alikes: LookAlikes
) -> Iterator[tuple[int, int]]:
    """The places of foreign addresses, as written and as decoded; half-open ranges of the text."""
    written = as_written(text)
    for reading in (written, decode(written)):
        folded = fold(reading.text, look_alikes.shapes)
        for match in _ADDRESS.finditer(folded.text):
            host = _host(match, folded, policy)
            if host is not None and _imitates(match, folded):
                host = ""
            if host is not None and not any(is_within(host, domain) for domain in home):
                yield _span(reading, folded, match)


def _host(match: re.Match[str], folded: Folded, policy: ContentPolicy) -> str | None:
    """The host of an address, empty where nobody can tell it; None where the words are no address after all."""
    if match["scheme"]:
        return host_of(match["scheme"])
    host = re.sub(_DOT, ".", match["bare"])
    if host.startswith("www.") or _NUMBERS.fullmatch(host):
        return host_of(host)
    before, _, ending = host.rpartition(".")
    if not any(label in policy.address_endings for label in host.split(".")[1:]):
        return None
    if len(ending) == 2 and not any(map(str.isalpha, before)):
        return None  # 9.am, 1.st
    return None if _begins_sentence(ending, match, folded, policy) else host_of(host)


def _begins_sentence(ending: str, match: re.Match[str], folded: Folded, policy: ContentPolicy) -> bool:
    """A common word with a capital behind a full stop that lacks its space ("noon.In stock"), or a degree ("M.Sc")."""
    start, end = folded.span(match.end() - len(ending), match.end())
    common = any(ending in policy.common_words_by_language[tag] for tag in policy.languages)
    return (common or len(match["bare"]) == len("M.Sc")) and folded.original[start:end].istitle()


def _imitates(match: re.Match[str], folded: Folded) -> bool:
    """Whether letters of the address only look like those of ASCII, and lead elsewhere."""
    start, end = folded.span(*match.span())
    return any(letter.isalpha() and not letter.isascii() for letter in folded.original[start:end])


def _span(reading: TextReading, folded: Folded, match: re.Match[str]) -> tuple[int, int]:
    return reading.span(*folded.span(*match.span()))


def _finding(field: str, text: str, span: tuple[int, int], home: Sequence[str]) -> ContentFinding:
    start, end = span
    allowed = ", ".join(home) or "none, for the advertiser and its landing page are not known"
    return ContentFinding(
        rule="foreign-link",
        category="destination",
        severity="review",
        field=field,
        start=start,
        end=end,
        excerpt=text[start:end],
        why=f"The text names an address that is not the advertiser's; allowed: {allowed}. Take it out.",
    )
