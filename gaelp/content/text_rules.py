"""The rules of the policy held against the texts of one creative."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from gaelp.content.creative import TEXT_FIELDS, Creative
from gaelp.content.folding import Folded, fold, squeeze
from gaelp.content.look_alikes import LookAlikes
from gaelp.content.policy import ContentPolicy, ContentRule
from gaelp.content.terms import Match, Term, compile_exception, compile_terms, find
from gaelp.content.unveiling import TextReading, readings_of
from gaelp.content.verdict import ContentFinding, ContentSeverity

__all__ = [
    "CompiledRule",
    "FoldedReading",
    "apply_rules",
    "compile_rule",
    "compile_rules",
    "fold_fields",
    "fold_unseen",
]

# More breaches of one rule are not reported, so that no text can keep the check busy for long.
_MATCHES_MAX = 100
# In these an advertiser's own name is read whole: whoever is called Dick Lovett does not swear in signing with it.
_READS_OWN_MARKS = ("trademarks", "profanity")


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """A rule ready to be searched for."""

    id: str
    category: str
    severity: ContentSeverity
    allowed_from_age: int | None
    why: str
    terms: tuple[Term, ...]
    exceptions: tuple[re.Pattern[str], ...]


@dataclass(frozen=True, slots=True)
class FoldedReading:
    """One reading of a text, and that reading folded to what the eye sees.

    Disguise deceives an eye. Where none looks, as at a landing URL, a click id would be taken for one: "gclid=xk-9un".
    """

    reading: TextReading
    folded: Folded
    by_eye: bool

    def find(self, terms: Sequence[Term], exceptions: Iterable[re.Pattern[str]]) -> Iterator[Match]:
        """Each place of a term, counted in the original text."""
        for match in find(self.folded, terms, exceptions):
            if match.form != "plain" and not self.by_eye:
                continue
            start, end = self.reading.span(*self.folded.span(match.start, match.end))
            yield replace(match, start=start, end=end)


def compile_rules(policy: ContentPolicy, look_alikes: LookAlikes) -> tuple[CompiledRule, ...]:
    """All rules of a policy, each with its own innocent phrases and those of the policy."""
    return tuple(compile_rule(rule, look_alikes, policy.unless) for rule in policy.rules)


def compile_rule(rule: ContentRule, look_alikes: LookAlikes, unless: Iterable[str] = ()) -> CompiledRule:
    """One rule; `unless` adds innocent phrases to its own."""
    return CompiledRule(
        id=rule.id,
        category=rule.category,
        severity=rule.severity,
        allowed_from_age=rule.allowed_from_age,
        why=rule.why,
        terms=compile_terms(rule.terms, look_alikes),
        exceptions=tuple(map(compile_exception, (*rule.unless, *unless))),
    )


def fold_fields(creative: Creative, look_alikes: LookAlikes) -> dict[str, tuple[FoldedReading, ...]]:
    """Each text that people read, in all its readings; empty ones are left out."""
    return _looks({field: getattr(creative, field) for field in TEXT_FIELDS}, look_alikes)


def fold_unseen(creative: Creative, look_alikes: LookAlikes) -> dict[str, tuple[FoldedReading, ...]]:
    """What nobody reads and yet says what the advert is about: where it leads, and at whose interests it aims."""
    interests = {f"audience.interests[{place}]": text for place, text in enumerate(creative.audience.interests)}
    return {
        **_looks({"landing_url": creative.landing_url}, look_alikes, by_eye=False),
        **_looks(interests, look_alikes),
    }


def _looks(
    texts: Mapping[str, str], look_alikes: LookAlikes, *, by_eye: bool = True
) -> dict[str, tuple[FoldedReading, ...]]:
    return {
        field: tuple(
            FoldedReading(reading, squeeze(fold(reading.text, look_alikes.shapes)), by_eye)
            for reading in readings_of(text)
        )
        for field, text in texts.items()
        if text.strip()
    }


def apply_rules(
    rules: Iterable[CompiledRule],
    fields: Mapping[str, Sequence[FoldedReading]],
    *,
    min_age: int | None,
    own_marks: Sequence[re.Pattern[str]] = (),
) -> list[ContentFinding]:
    """Every finding of every rule; a rule for the young is silent only where the audience is known to be older."""
    return [
        finding
        for rule in rules
        if rule.allowed_from_age is None or min_age is None or min_age < rule.allowed_from_age
        for field, looks in fields.items()
        for finding in _findings(rule, field, looks, own_marks if rule.category in _READS_OWN_MARKS else ())
    ]


def _findings(
    rule: CompiledRule, field: str, looks: Sequence[FoldedReading], own_marks: Sequence[re.Pattern[str]]
) -> Iterator[ContentFinding]:
    exceptions = (*rule.exceptions, *own_marks)
    matches = [match for look in looks for match in islice(look.find(rule.terms, exceptions), _MATCHES_MAX)]
    for match in _longest(matches):
        yield ContentFinding(
            rule=rule.id,
            category=rule.category,
            severity="review" if match.form == "split" else rule.severity,
            field=field,
            start=match.start,
            end=match.end,
            excerpt=looks[0].reading.original[match.start : match.end],
            read_as=match.term,
            why=rule.why,
        )


def _longest(matches: Iterable[Match]) -> list[Match]:
    """Of matches that overlap, the one that is certain, then the longest: one excerpt is one finding of a rule."""
    kept: list[Match] = []
    for match in sorted(matches, key=lambda match: (match.form == "split", match.start - match.end, match.start)):
        if all(match.end <= other.start or other.end <= match.start for other in kept):
            kept.append(match)
    return sorted(kept, key=lambda match: match.start)
