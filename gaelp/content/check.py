"""Check a creative before it is published: every rule, every score, one verdict. Doubt never allows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gaelp.config.fingerprint import fingerprint
from gaelp.content.brand_rules import check_brand, unknown_brand
from gaelp.content.completeness import check_form
from gaelp.content.creative import Creative, creative_hash
from gaelp.content.destination import check_destination
from gaelp.content.links import check_links
from gaelp.content.look_alikes import LookAlikes, load_look_alikes
from gaelp.content.policy import Brand, ContentPolicy, load_brand, load_policy
from gaelp.content.profanity import ProfanityScorer, load_scorer, score_profanity
from gaelp.content.quality import score_quality
from gaelp.content.terms import compile_exception
from gaelp.content.text_rules import CompiledRule, apply_rules, compile_rules, fold_fields, fold_unseen
from gaelp.content.verdict import ContentFinding, ContentSeverity, ContentVerdict, QualityPart, case_of, overall
from gaelp.errors import BadInput, ComponentMissing

__all__ = ["ContentChecker", "load_checker"]


@dataclass(slots=True)
class _Draft:
    """What is known so far about one creative."""

    findings: list[ContentFinding] = field(default_factory=list)
    profanity: float | None = None
    quality: float | None = None
    parts: tuple[QualityPart, ...] = ()


class ContentChecker:
    """Holds the compiled policy; `check` judges one creative at a time and never raises on account of one."""

    def __init__(
        self,
        policy: ContentPolicy,
        look_alikes: LookAlikes,
        *,
        brand_of: Callable[[str], Brand] = load_brand,
        scorer_source: Callable[[], ProfanityScorer] = load_scorer,
    ) -> None:
        self._policy = policy
        self._policy_hash = fingerprint(policy)
        self._look_alikes = look_alikes
        self._rules: tuple[CompiledRule, ...] = compile_rules(policy, look_alikes)
        self._innocent = tuple(map(compile_exception, policy.unless))
        self._brand_of = brand_of
        self._brands: dict[str, Brand] = {}
        self._scorer_source = scorer_source
        self._scorer: ProfanityScorer | None = None

    def check(self, creative: Creative) -> ContentVerdict:
        """The verdict; a part that fails leaves a finding of its own, so that nothing passes unchecked."""
        draft = _Draft()
        parts: Mapping[str, Callable[[Creative, _Draft], None]] = {
            "form": self._judge_form,
            "texts": self._judge_texts,
            "profanity": self._judge_profanity,
            "quality": self._judge_quality,
        }
        for name, judge in parts.items():
            try:
                judge(creative, draft)
            except Exception as problem:  # noqa: BLE001 - whatever goes wrong here must end as a refusal, not as a gap
                draft.findings.append(_failure(name, problem))
        return self._verdict(creative, draft)

    def _judge_form(self, creative: Creative, draft: _Draft) -> None:
        draft.findings += check_form(creative, self._policy)

    def _judge_texts(self, creative: Creative, draft: _Draft) -> None:
        fields = fold_fields(creative, self._look_alikes)
        brand = self._brand(creative, draft)
        own_marks = tuple(compile_exception(mark) for mark in brand.own_marks) if brand else ()
        every = {**fields, **fold_unseen(creative, self._look_alikes)}
        draft.findings += apply_rules(self._rules, every, min_age=creative.audience.min_age, own_marks=own_marks)
        draft.findings += check_destination(creative, brand)
        draft.findings += check_links(creative, brand, self._policy, self._look_alikes)
        if brand:
            draft.findings += check_brand(creative, brand, fields, self._look_alikes)

    def _brand(self, creative: Creative, draft: _Draft) -> Brand | None:
        if not creative.advertiser.strip():
            return None  # a missing field, which is a finding already
        try:
            brand = self._brands.get(creative.advertiser) or self._brand_of(creative.advertiser)
        except BadInput as problem:
            draft.findings.append(unknown_brand(creative.advertiser, str(problem)))
            return None
        if brand.advertiser != creative.advertiser:
            reason = f"the file is that of {brand.advertiser}."
            draft.findings.append(unknown_brand(creative.advertiser, reason))
            return None
        self._brands[creative.advertiser] = brand
        return brand

    def _judge_profanity(self, creative: Creative, draft: _Draft) -> None:
        try:
            self._scorer = self._scorer or self._scorer_source()
        except ComponentMissing as problem:
            draft.findings.append(_failure("profanity", problem, severity="review"))
            return
        limits = self._policy.profanity
        draft.profanity, findings = score_profanity(creative, limits, self._look_alikes, self._scorer, self._innocent)
        named = {finding.field for finding in draft.findings if finding.category in limits.together_with}
        draft.findings += [finding for finding in findings if finding.field in named]

    def _judge_quality(self, creative: Creative, draft: _Draft) -> None:
        draft.quality, draft.parts, findings = score_quality(creative, self._policy.quality)
        draft.findings += findings

    def _verdict(self, creative: Creative, draft: _Draft) -> ContentVerdict:
        exact = creative_hash(creative)
        return ContentVerdict(
            creative_id=creative.id,
            creative_hash=exact,
            policy_hash=self._policy_hash,
            outcome=overall(draft.findings),
            findings=tuple(draft.findings),
            profanity=draft.profanity,
            quality=draft.quality,
            quality_parts=draft.parts,
            case=case_of(exact, draft.findings),
        )


def load_checker(policy: str = "policy") -> ContentChecker:
    """A checker with a policy of configs/content and the brands beside it."""
    return ContentChecker(load_policy(policy), load_look_alikes())


def _failure(part: str, problem: Exception, severity: ContentSeverity = "block") -> ContentFinding:
    return ContentFinding(
        rule=f"{part}-not-checked",
        category="completeness",
        severity=severity,
        excerpt=f"{type(problem).__name__}: {problem}"[:400],
        why="A part of the check did not run, so nothing is known about what it would have found.",
    )
