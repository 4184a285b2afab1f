"""Quality score of a creative: length, readability, capitals, punctuation and landing-page match, each explained."""

import re
import unicodedata
from collections.abc import Sequence

from gaelp.content.creative import Creative
from gaelp.content.policy import QualityLimits
from gaelp.content.verdict import ContentFinding, QualityPart

__all__ = ["score_quality", "shown_length"]

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_VOWELS = re.compile(r"[aeiouy]+")
_SHOUTING = re.compile(r"[!?]{2,}|\.{4,}|([^\w\s])\1{2,}")
# Flesch: 90 reads like a comic, 30 like a contract.
_EASY, _HARD = 60.0, 0.0
_STOP_WORDS = frozenset(
    re.findall(r"\w+", "and are for from get has have its more not our that the their they this who will with you your")
)


def score_quality(
    creative: Creative, limits: QualityLimits
) -> tuple[float, tuple[QualityPart, ...], list[ContentFinding]]:
    """The mean of the parts, the parts, and what a limit has to say about them."""
    parts = (
        _length(creative, limits),
        _readability(creative.description or creative.headline),
        _capitals(creative, limits),
        _punctuation(creative),
        _landing_match(creative, limits),
    )
    score = sum(part.score for part in parts) / len(parts)
    return score, parts, _findings(score, parts, limits)


def shown_length(text: str) -> int:
    """Characters as Google Ads counts them: a wide one, such as a Chinese character, counts two."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def _findings(score: float, parts: Sequence[QualityPart], limits: QualityLimits) -> list[ContentFinding]:
    findings = [
        ContentFinding(
            rule=f"quality-{part.name}",
            category="quality",
            severity="block" if part.name == "length" else "review",
            excerpt=part.explanation,
            why=limits.why,
        )
        for part in parts
        if part.score == 0 and part.name != "readability"
    ]
    if score < limits.review_below:
        why = f"Quality {score:.2f}, a person looks below {limits.review_below:g}. {limits.why}"
        findings.append(ContentFinding(rule="quality-score", category="quality", severity="review", why=why))
    return findings


def _length(creative: Creative, limits: QualityLimits) -> QualityPart:
    headline, description = shown_length(creative.headline), shown_length(creative.description)
    fits = headline <= limits.headline_max and description <= limits.description_max
    said = f"headline {headline} of {limits.headline_max}, description {description} of {limits.description_max}"
    return QualityPart(name="length", score=float(fits), explanation=f"{said} characters")


def _readability(text: str) -> QualityPart:
    words = _WORD.findall(text)
    if not words:
        return QualityPart(name="readability", score=0, explanation="no words")
    sentences = max(1, len(re.findall(r"[.!?]+(?=\s|$)", text)))
    syllables = sum(_syllables(word) for word in words)
    ease = 206.835 - 1.015 * len(words) / sentences - 84.6 * syllables / len(words)
    score = min(1.0, max(0.0, (ease - _HARD) / (_EASY - _HARD)))
    return QualityPart(name="readability", score=score, explanation=f"Flesch reading ease {ease:.0f}, easy from 60 on")


def _syllables(word: str) -> int:
    lowered = word.lower()
    silent = lowered.endswith("e") and not lowered.endswith(("le", "ee"))
    return max(1, len(_VOWELS.findall(lowered)) - silent)


def _capitals(creative: Creative, limits: QualityLimits) -> QualityPart:
    long = [word for word in _WORD.findall(f"{creative.headline} {creative.description}") if len(word) >= 4]
    share = sum(word.isupper() for word in long) / len(long) if long else 0.0
    score = 0.0 if share > limits.capitals_max else 1 - share
    said = f"{share:.0%} of the longer words in capitals, at most {limits.capitals_max:.0%}"
    return QualityPart(name="capitals", score=score, explanation=said)


def _punctuation(creative: Creative) -> QualityPart:
    shouts = len(_SHOUTING.findall(f"{creative.headline}\n{creative.description}"))
    shouts += "!" in creative.headline  # Google Ads refuses an exclamation mark in a headline
    said = f"{shouts} places with repeated signs or an exclamation mark in the headline"
    return QualityPart(name="punctuation", score=max(0.0, 1 - 0.5 * shouts), explanation=said)


def _landing_match(creative: Creative, limits: QualityLimits) -> QualityPart:
    wanted = _vocabulary(f"{creative.headline} {creative.description}")
    shared = wanted & _vocabulary(creative.landing_text)
    share = len(shared) / len(wanted) if wanted else 0.0
    score = 0.0 if share < limits.landing_match_min else min(1.0, 2 * share)
    said = f"{len(shared)} of {len(wanted)} words are on the landing page, at least {limits.landing_match_min:.0%}"
    return QualityPart(name="landing-match", score=score, explanation=said)


def _vocabulary(text: str) -> set[str]:
    words = {word.lower() for word in _WORD.findall(unicodedata.normalize("NFKC", text))}
    return {word.removesuffix("s") for word in words - _STOP_WORDS if len(word) > 2}
