"""Profanity score of a text by a trained classifier, which is loaded when it is first needed."""

import re
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from gaelp.content.creative import PRINTED_FIELDS, Creative
from gaelp.content.folding import fold
from gaelp.content.look_alikes import LookAlikes
from gaelp.content.policy import ProfanityLimits
from gaelp.content.readings import plain_readings
from gaelp.content.terms import innocent_spans
from gaelp.content.verdict import ContentFinding
from gaelp.errors import ComponentMissing

__all__ = ["ProfanityScorer", "load_scorer", "score_profanity"]

ProfanityScorer = Callable[[Sequence[str]], Sequence[float]]


def load_scorer() -> ProfanityScorer:
    """The classifier of alt-profanity-check; ComponentMissing where it cannot be loaded."""
    try:
        profanity_check: Any = import_module("profanity_check")  # it takes seconds and reads its model
    except Exception as problem:
        raise ComponentMissing(
            f"the profanity classifier cannot be loaded ({type(problem).__name__}: {problem});"
            " allowed: alt-profanity-check 1.9 or later. Install it, or have a person review each creative."
        ) from problem
    return lambda texts: [float(score) for score in profanity_check.predict_prob(list(texts))]


def score_profanity(
    creative: Creative,
    limits: ProfanityLimits,
    look_alikes: LookAlikes,
    scorer: ProfanityScorer,
    innocent: Sequence[re.Pattern[str]] = (),
) -> tuple[float, list[ContentFinding]]:
    """The highest score over all fields and readings, and a finding for each field that passes a limit.

    The classifier knows words but misses leetspeak, so it is shown the plain readings besides the text itself. It does
    not know names either: phrases that the policy calls innocent are cut out first.
    """
    texts = {field: text for field in PRINTED_FIELDS if (text := getattr(creative, field)).strip()}
    readings = {field: _all_readings(text, innocent, look_alikes) for field, text in texts.items()}
    flat = [(field, reading) for field, texts_read in readings.items() for reading in texts_read]
    if not flat:
        return 0.0, []
    scores = scorer([reading for _, reading in flat])
    if not all(0 <= score <= 1 for score in scores):  # NaN is refused too
        raise ValueError(f"saw profanity scores {scores}; allowed: 0 to 1. Check the scorer.")
    worst: dict[str, tuple[float, str]] = {}
    for (field, reading), score in zip(flat, scores, strict=True):
        worst[field] = max(worst.get(field, (score, reading)), (score, reading))
    findings = [
        _finding(field, texts[field], reading, score, limits)
        for field, (score, reading) in worst.items()
        if score >= limits.review_from
    ]
    return max(scores), findings


def _all_readings(text: str, innocent: Sequence[re.Pattern[str]], look_alikes: LookAlikes) -> tuple[str, ...]:
    judged = _without(text, innocent, look_alikes)
    return judged, *plain_readings(judged, look_alikes)


def _without(text: str, innocent: Sequence[re.Pattern[str]], look_alikes: LookAlikes) -> str:
    folded = fold(text, look_alikes.shapes)
    for start, end in (folded.span(*span) for span in innocent_spans(folded.text, innocent)):
        text = text[:start] + " " * (end - start) + text[end:]
    return text


def _finding(field: str, text: str, reading: str, score: float, limits: ProfanityLimits) -> ContentFinding:
    return ContentFinding(
        rule="profanity-score",
        category="profanity",
        severity="block" if score >= limits.block_from else "review",
        field=field,
        end=len(text),
        excerpt=text,
        read_as=reading,
        why=f"{limits.why} Score {score:.2f}; a person looks from {limits.review_from:g}, blocked from"
        f" {limits.block_from:g}.",
    )
