"""The rules of the policy held against the texts of one creative."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from gaelp.content.creative import TEXT_FIELDS, Creative
from gaelp.content.folding import Folded, fold, squeeze
from gaelp.content.look_alikes import LookAlikes
from gaelp.content.policy import Policy, Rule
from gaelp.content.terms import Match, Term, compile_exception, compile_terms, find
from gaelp.content.verdict import Finding, Severity

__all__ = ["CompiledRule", "apply_rules", "compile_rule", "compile_rules", "fold_fields"]

# A text that breaks a rule this often is not told more of it, so that none can keep the check busy for long.
_MATCHES_MAX = 100


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """A rule ready to be searched for."""

    id: str
    category: str
    severity: Severity
    allowed_from_age: int | None
    why: str
    terms: tuple[Term, ...]
    exceptions: tuple[re.Pattern[str], ...]


def compile_rules(policy: Policy, look_alikes: LookAlikes) -> tuple[CompiledRule, ...]:
    """All rules of a policy, each with its own innocent phrases and those of the policy."""
    return tuple(compile_rule(rule, look_alikes, policy.unless) for rule in policy.rules)


def compile_rule(rule: Rule, look_alikes: LookAlikes, unless: Iterable[str] = ()) -> CompiledRule:
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


def fold_fields(creative: Creative, look_alikes: LookAlikes) -> dict[str, Folded]:
    """Each text that people read, folded and squeezed; empty ones are left out."""
    texts = {field: getattr(creative, field) for field in TEXT_FIELDS}
    return {field: squeeze(fold(text, look_alikes.shapes)) for field, text in texts.items() if text.strip()}


def apply_rules(
    rules: Iterable[CompiledRule],
    fields: Mapping[str, Folded],
    *,
    min_age: int | None,
    own_marks: Sequence[re.Pattern[str]] = (),
) -> list[Finding]:
    """Every finding of every rule; a rule for the young is silent only where the audience is known to be older."""
    return [
        finding
        for rule in rules
        if rule.allowed_from_age is None or min_age is None or min_age < rule.allowed_from_age
        for field, folded in fields.items()
        for finding in _findings(rule, field, folded, own_marks if rule.category == "trademarks" else ())
    ]


def _findings(
    rule: CompiledRule, field: str, folded: Folded, own_marks: Sequence[re.Pattern[str]]
) -> Iterator[Finding]:
    for match in _longest(islice(find(folded, rule.terms, (*rule.exceptions, *own_marks)), _MATCHES_MAX)):
        start, end = folded.span(match.start, match.end)
        yield Finding(
            rule=rule.id,
            category=rule.category,
            severity="review" if match.form == "split" else rule.severity,
            field=field,
            start=start,
            end=end,
            excerpt=folded.original[start:end],
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
