"""What has to be there and be honest in form before the words are judged: fields, language, script, audience."""

import re
import unicodedata
from collections.abc import Iterator

from gaelp.content.creative import TEXT_FIELDS, Creative
from gaelp.content.folding import is_hidden
from gaelp.content.policy import AudienceLimits, Policy
from gaelp.content.verdict import Finding

__all__ = ["check_form"]

_REQUIRED = ("advertiser", "headline", "description", "display_url", "landing_url", "landing_text", "language")
_LATIN_SHARE_MIN = 0.9


def check_form(creative: Creative, policy: Policy) -> list[Finding]:
    """Missing fields, a language the rules do not know, hidden or mixed letters, an audience too young or unknown."""
    return [
        *_missing(creative),
        *_language(creative, policy),
        *_hidden(creative),
        *_mixed_scripts(creative),
        *_audience(creative, policy.audience),
    ]


def _missing(creative: Creative) -> Iterator[Finding]:
    for field in _REQUIRED:
        if not getattr(creative, field).strip():
            yield Finding(
                rule="missing-field",
                category="completeness",
                severity="review" if field == "landing_text" else "block",
                field=field,
                why=f"{field} is empty: what is not shown cannot be judged. Fill it in.",
            )


def _language(creative: Creative, policy: Policy) -> Iterator[Finding]:
    primary = creative.language.split("-")[0].lower()
    if creative.language.strip() and primary not in policy.languages:
        yield Finding(
            rule="unknown-language",
            category="completeness",
            severity="review",
            field="language",
            excerpt=creative.language,
            why=f"The rules are written in {', '.join(policy.languages)}: they say nothing about this text.",
        )
    for field in ("headline", "description"):
        text = getattr(creative, field)
        letters = [character for character in text if character.isalpha()]
        latin = sum(_script(letter) == "LATIN" for letter in letters)
        if letters and latin < _LATIN_SHARE_MIN * len(letters):
            yield Finding(
                rule="foreign-script",
                category="completeness",
                severity="review",
                field=field,
                end=len(text),
                excerpt=text,
                why="Most rules are written in Latin letters, and this text mostly is not: a person has to read it.",
            )


def _hidden(creative: Creative) -> Iterator[Finding]:
    """Invisible characters between letters; one that joins two emoji is how those are written."""
    for field in TEXT_FIELDS:
        text = getattr(creative, field)
        for place, character in enumerate(text):
            if is_hidden(character) and unicodedata.category(character) != "Mn" and _beside_letter(text, place):
                yield Finding(
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


def _beside_letter(text: str, place: int) -> bool:
    return any(neighbour.isalnum() for neighbour in text[max(0, place - 1) : place] + text[place + 1 : place + 2])


def _mixed_scripts(creative: Creative) -> Iterator[Finding]:
    for field in TEXT_FIELDS:
        for word in re.finditer(r"[^\W\d_]{2,}", getattr(creative, field)):
            scripts = {_script(letter) for letter in word[0]}
            if "LATIN" in scripts and scripts & {"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "LISU"}:
                yield Finding(
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


def _script(letter: str) -> str:
    """The alphabet of a letter, by its compatibility form: a fullwidth A is Latin."""
    return unicodedata.name(unicodedata.normalize("NFKC", letter)[:1] or letter, "").split(" ")[0]


def _audience(creative: Creative, limits: AudienceLimits) -> Iterator[Finding]:
    ages = creative.audience
    if ages.min_age is None:
        severity, seen = "review", "The lowest age of the audience is not given."
    elif ages.max_age is not None and ages.max_age < ages.min_age:
        severity, seen = "block", f"The audience ends at {ages.max_age} and begins at {ages.min_age}: it is empty."
    elif ages.min_age < limits.block_below_age:
        severity, seen = "block", f"The audience begins at {ages.min_age}; allowed: {limits.block_below_age} and older."
    elif ages.interests and ages.min_age < limits.no_interests_below_age:
        severity, seen = (
            "block",
            f"Aims at interests of an audience from {ages.min_age}, not yet {limits.no_interests_below_age}.",
        )
    else:
        return
    yield Finding(
        rule="audience-age",
        category="minors",
        severity="block" if severity == "block" else "review",
        field="audience",
        excerpt="unknown" if ages.min_age is None else f"from {ages.min_age}",
        why=f"{seen} {limits.why}",
    )
