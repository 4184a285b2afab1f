"""What has to be there and be honest in form before the words are judged: fields, language, script, audience."""

import re
import unicodedata
from collections.abc import Iterator

from gaelp.content.creative import PRINTED_FIELDS, TEXT_FIELDS, Creative
from gaelp.content.folding import is_hidden
from gaelp.content.language import check_language, script_of
from gaelp.content.policy import AudienceLimits, ContentPolicy
from gaelp.content.unveiling import as_written, decode, is_still_encoded
from gaelp.content.verdict import ContentFinding

__all__ = ["check_form"]

_REQUIRED = ("advertiser", "headline", "description", "display_url", "landing_url", "landing_text", "language")
# What says how a text is to look and is no text: BBCode, Markdown, template fields, TeX, backslash and mail escapes.
# Signs that honest copy holds are left alone: [New], [S] [M] [L], 2 for 1*, *terms apply, (20% off).
_MARKUP = re.compile(
    r"\[/[a-z][^\[\]]{0,40}\]|\[[a-z]{1,12}=[^\[\]]{1,200}\]|\[(?:b|i|u|br|hr|\*)\]"
    r"|(?<=[^\W\d_])\[[a-z][^\[\]]{0,40}\](?=[^\W\d_])"
    r"|\[[^\[\]]{0,200}\]\([^()]{1,300}\)|(?P<sign>\*\*|__|~~)(?=\w)[^*_~]{1,200}(?<=\S)(?P=sign)|`[^`]{1,200}`"
    r"|\{[^{}]{0,200}\}|\[\[[^\[\]]{1,80}\]\]|%%\w{1,40}%%|<[%?]"
    r"|\\(?:[0-7]{3}|0{0,4}[2-7][0-9a-f])|(?:=[0-9a-f]{2}){2,}",
    re.IGNORECASE,
)


def check_form(creative: Creative, policy: ContentPolicy) -> list[ContentFinding]:
    """Missing fields, a language the rules do not know, hidden or mixed letters, an audience too young or unknown."""
    return [
        *_missing(creative),
        *check_language(creative, policy),
        *_hidden(creative),
        *_markup(creative),
        *_over_encoded(creative),
        *_mixed_scripts(creative),
        *_audience(creative, policy.audience),
    ]


def _missing(creative: Creative) -> Iterator[ContentFinding]:
    for field in _REQUIRED:
        if not getattr(creative, field).strip():
            yield ContentFinding(
                rule="missing-field",
                category="completeness",
                severity="review" if field == "landing_text" else "block",
                field=field,
                why=f"{field} is empty: what is not shown cannot be judged. Fill it in.",
            )


def _hidden(creative: Creative) -> Iterator[ContentFinding]:
    """Invisible characters between letters; one that joins two emoji is how those are written."""
    for field in TEXT_FIELDS:
        text = getattr(creative, field)
        for place, character in enumerate(text):
            if is_hidden(character) and unicodedata.category(character) != "Mn" and _beside_letter(text, place):
                yield ContentFinding(
                    rule="hidden-character",
                    category="obfuscation",
                    severity="review",
                    field=field,
                    start=place,
                    end=place + 1,
                    excerpt=character,
                    read_as=unicodedata.name(character, f"U+{ord(character):04X}"),
                    why="An invisible character inside a word serves to hide the word from checks.",
                )
                break


def _markup(creative: Creative) -> Iterator[ContentFinding]:
    """Tags, encoded characters and other markup in a text that platforms print as it is."""
    for field in PRINTED_FIELDS:
        text = getattr(creative, field)
        plain = decode(as_written(text)).text
        if plain != text or _MARKUP.search(text):
            yield ContentFinding(
                rule="markup",
                category="obfuscation",
                severity="review",
                field=field,
                end=len(text),
                excerpt=text,
                read_as=plain if plain != text else "",
                why="Markup or encoded characters in an advert are a slip or hide words from checks. Write plain text.",
            )


def _over_encoded(creative: Creative) -> Iterator[ContentFinding]:
    """Texts and addresses that hold encodings within encodings beyond what is undone."""
    for field in (*TEXT_FIELDS, "landing_url"):
        text = getattr(creative, field)
        if is_still_encoded(text):
            yield ContentFinding(
                rule="over-encoded",
                category="obfuscation",
                severity="review",
                field=field,
                end=len(text),
                excerpt=text[:200],
                why="Encoded again and again, so that the check does not reach the words. Write plain text.",
            )


def _beside_letter(text: str, place: int) -> bool:
    return any(neighbour.isalnum() for neighbour in text[max(0, place - 1) : place] + text[place + 1 : place + 2])


def _mixed_scripts(creative: Creative) -> Iterator[ContentFinding]:
    for field in TEXT_FIELDS:
        for word in re.finditer(r"[^\W\d_]{2,}", getattr(creative, field)):
            scripts = {script_of(letter) for letter in word[0]}
            if "LATIN" in scripts and scripts & {"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "LISU"}:
                yield ContentFinding(
                    rule="mixed-scripts",
                    category="obfuscation",
                    severity="review",
                    field=field,
                    start=word.start(),
                    end=word.end(),
                    excerpt=word[0],
                    read_as=" and ".join(sorted(scripts)).lower(),
                    why="Letters of two alphabets in one word serve to hide the word from checks.",
                )


def _audience(creative: Creative, limits: AudienceLimits) -> Iterator[ContentFinding]:
    ages = creative.audience
    if ages.min_age is None:
        severity, problem = "review", "The lowest age of the audience is not given."
    elif ages.max_age is not None and ages.max_age < ages.min_age:
        severity, problem = "block", f"The audience ends at {ages.max_age} and begins at {ages.min_age}: it is empty."
    elif ages.min_age < limits.block_below_age:
        severity, problem = (
            "block",
            f"The audience begins at {ages.min_age}; allowed: {limits.block_below_age} and older.",
        )
    elif ages.interests and ages.min_age < limits.no_interests_below_age:
        severity, problem = (
            "block",
            f"Aims at interests of an audience from {ages.min_age}, not yet {limits.no_interests_below_age}.",
        )
    else:
        return
    yield ContentFinding(
        rule="audience-age",
        category="minors",
        severity="block" if severity == "block" else "review",
        field="audience",
        excerpt="unknown" if ages.min_age is None else f"from {ages.min_age}",
        why=f"{problem} {limits.why}",
    )
