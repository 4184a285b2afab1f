"""What one advertiser asks of its own adverts: names, disclaimers, tone."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence

from gaelp.content.creative import Creative
from gaelp.content.folding import fold
from gaelp.content.look_alikes import LookAlikes
from gaelp.content.policy import Brand, ContentRule, Disclaimer, NamedTerms, Tone
from gaelp.content.terms import compile_terms
from gaelp.content.text_rules import FoldedReading, apply_rules, compile_rule
from gaelp.content.verdict import ContentFinding

__all__ = ["check_brand", "unknown_brand"]

_JOINER = "\u200d"


def check_brand(
    creative: Creative, brand: Brand, fields: Mapping[str, Sequence[FoldedReading]], look_alikes: LookAlikes
) -> list[ContentFinding]:
    """Forbidden names and words, missing disclaimers, and a tone louder than the brand's."""
    named = {"competitor": brand.competitors, "brand-word": brand.forbidden}
    rules = [compile_rule(_as_rule(name, terms), look_alikes) for name, terms in named.items() if terms]
    return [
        *apply_rules(rules, fields, min_age=None),
        *(finding for wanted in brand.disclaimers for finding in _disclaimer(wanted, creative, fields, look_alikes)),
        *(_tone(creative, brand.tone) if brand.tone else ()),
    ]


def unknown_brand(advertiser: str, reason: str) -> ContentFinding:
    """An advertiser without rules of its own: nobody has said what it may say."""
    return ContentFinding(
        rule="unknown-advertiser",
        category="brand",
        severity="review",
        field="advertiser",
        excerpt=advertiser,
        why=f"There are no brand rules for this advertiser: {reason}",
    )


def _as_rule(name: str, named: NamedTerms) -> ContentRule:
    return ContentRule(id=name, category="brand", severity=named.severity, terms=named.terms, why=named.why)


def _disclaimer(
    wanted: Disclaimer, creative: Creative, fields: Mapping[str, Sequence[FoldedReading]], look_alikes: LookAlikes
) -> Iterator[ContentFinding]:
    triggers = compile_terms(wanted.when, look_alikes)
    due = not triggers or any(True for looks in fields.values() for look in looks for _ in look.find(triggers, ()))
    text = fold(getattr(creative, wanted.field), look_alikes.shapes).text
    if due and _squeezed(fold(wanted.text, look_alikes.shapes).text) not in _squeezed(text):
        yield ContentFinding(
            rule="disclaimer",
            category="brand",
            severity="block",
            field=wanted.field,
            read_as=wanted.text,
            why=f"The sentence {wanted.text!r} is missing. {wanted.why}",
        )


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _emoji(text: str) -> int:
    """How many pictures are seen: several joined by a zero-width joiner are one."""
    pictures = [place for place, character in enumerate(text) if unicodedata.category(character) == "So"]
    return sum(text[place - 1 : place] != _JOINER for place in pictures)


def _tone(creative: Creative, tone: Tone) -> Iterator[ContentFinding]:
    text = f"{creative.headline} {creative.description} {creative.call_to_action}"
    counted = {
        "exclamation marks": (
            sum(unicodedata.normalize("NFKC", c) in ("!", "!!") for c in text),
            tone.exclamation_marks_max,
        ),
        "emoji": (_emoji(text), tone.emoji_max),
        "words in capitals": (len(re.findall(r"\b[A-Z]{4,}\b", text)), tone.capital_words_max),
    }
    for name, (count, limit) in counted.items():
        if limit is not None and count > limit:
            yield ContentFinding(
                rule="tone",
                category="brand",
                severity="review",
                field="headline",
                excerpt=f"{count} {name}",
                why=f"{count} {name}, allowed: {limit}. {tone.why}",
            )
