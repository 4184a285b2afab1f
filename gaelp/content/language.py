"""Whether a text is in a language that the rules can read: by its label, its script and its commonest words."""

import re
import unicodedata
from collections.abc import Iterator

from gaelp.content.creative import Creative
from gaelp.content.policy import ContentPolicy
from gaelp.content.verdict import ContentFinding

__all__ = ["check_language", "script_of"]

_LATIN_SHARE_MIN = 0.9
_WORD = re.compile(r"[^\W\d_]+")
# One foreign word is a name or a dish; two of one language, and more than of the labelled one, are a sentence of it.
_FOREIGN_WORDS_MIN = 2


def check_language(creative: Creative, policy: ContentPolicy) -> list[ContentFinding]:
    """A label the rules do not know, a script they are not written in, words of another language than the label's."""
    return [
        *_unknown_label(creative, policy),
        *_foreign_script(creative),
        *_mislabelled(creative, policy),
    ]


def script_of(letter: str) -> str:
    """The alphabet of a letter, by its compatibility form: a fullwidth A is Latin."""
    return unicodedata.name(unicodedata.normalize("NFKC", letter)[:1] or letter, "").split(" ")[0]


def _primary(creative: Creative) -> str:
    return creative.language.split("-")[0].lower()


def _unknown_label(creative: Creative, policy: ContentPolicy) -> Iterator[ContentFinding]:
    if creative.language.strip() and _primary(creative) not in policy.languages:
        yield ContentFinding(
            rule="unknown-language",
            category="completeness",
            severity="review",
            field="language",
            excerpt=creative.language,
            why=f"The rules are written in {', '.join(policy.languages)}: they say nothing about this text.",
        )


def _foreign_script(creative: Creative) -> Iterator[ContentFinding]:
    for field in ("headline", "description"):
        text = getattr(creative, field)
        letters = [character for character in text if character.isalpha()]
        latin = sum(script_of(letter) == "LATIN" for letter in letters)
        if letters and latin < _LATIN_SHARE_MIN * len(letters):
            why = "Most rules are written in Latin letters, and this text mostly is not: a person has to read it."
            yield _finding("foreign-script", field, text, why)


def _mislabelled(creative: Creative, policy: ContentPolicy) -> Iterator[ContentFinding]:
    """Texts that hold more common words of another language than of their own; other labels are a finding already."""
    own = _primary(creative)
    if own not in policy.languages:
        return
    for field in ("headline", "description", "landing_text"):
        text = getattr(creative, field)
        words = set(_WORD.findall(text.casefold()))
        counts = {tag: len(words & common) for tag, common in policy.common_words_by_language.items()}
        likeliest = max(counts, key=lambda tag: (counts[tag], tag == own))
        if likeliest != own and counts[likeliest] >= _FOREIGN_WORDS_MIN:
            why = (
                f"Labelled {creative.language}, but {counts[likeliest]} of its words are common in {likeliest} and"
                f" {counts[own]} in {own}: the rules cannot read it. Correct the label, or have a person read it."
            )
            yield _finding("mislabelled-language", field, text, why)


def _finding(rule: str, field: str, text: str, why: str) -> ContentFinding:
    return ContentFinding(
        rule=rule, category="completeness", severity="review", field=field, end=len(text), excerpt=text[:200], why=why
    )
