"""What a check says: allow, review or block, and every finding that led there."""

import hashlib
import json
from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from gaelp.config.base import Frozen

__all__ = ["ContentFinding", "ContentOutcome", "ContentSeverity", "ContentVerdict", "QualityPart", "case_of", "overall"]

ContentSeverity = Literal["review", "block"]
ContentOutcome = Literal["allow", "review", "block"]


class ContentFinding(Frozen):
    """One thing that speaks against publishing; start and end are places in the original text of the field."""

    rule: str
    category: str
    severity: ContentSeverity
    field: str = ""
    start: int = Field(default=0, ge=0)
    end: int = Field(default=0, ge=0)
    excerpt: str = ""
    read_as: str = ""
    why: str = Field(min_length=1)


class QualityPart(Frozen):
    """One component of the quality score: 1 is best, and the explanation says what was measured."""

    name: str
    score: float = Field(ge=0, le=1)
    explanation: str


class ContentVerdict(Frozen):
    """The judgement on one creative under one policy; `case` names both it and what was found."""

    creative_id: str
    creative_hash: str
    policy_hash: str
    outcome: ContentOutcome
    findings: tuple[ContentFinding, ...]
    profanity: float | None = Field(description="highest score of any reading, 0 to 1; none if it was not scored")
    quality: float | None = Field(description="mean of the parts, 0 to 1; none if it was not scored")
    quality_parts: tuple[QualityPart, ...] = ()
    case: str
    decided_by: str = ""


def overall(findings: Iterable[ContentFinding]) -> ContentOutcome:
    """Block wins over review, which wins over allow."""
    severities = {finding.severity for finding in findings}
    if "block" in severities:
        return "block"
    return "review" if severities else "allow"


def case_of(creative_hash: str, findings: Iterable[ContentFinding]) -> str:
    """SHA-256 (hex) over a creative and what was found in it: a person decides on both, never on one alone."""
    texts = sorted(finding.model_dump_json() for finding in findings)
    return hashlib.sha256(json.dumps([creative_hash, texts]).encode()).hexdigest()
