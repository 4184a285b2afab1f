"""What a gate says: every rule with its figures and its reason, in a form that can be hashed, stored and replayed."""

import hashlib
import json
from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel

from gaelp.config.base import Frozen
from gaelp.config.field_types import Instant
from gaelp.gates.criteria import Criterion, Gate
from gaelp.gates.evidence import Evidence

__all__ = ["GateOutcome", "RuleResult", "Verdict", "evidence_hash", "overall"]

GateOutcome = Literal["pass", "fail", "inconclusive"]


class RuleResult(Frozen):
    """How one rule went; a figure that is missing or not finite is None, and the reason says which."""

    criterion: Criterion
    outcome: GateOutcome
    value: float | None  # the metric itself
    compared: float | None  # the figure the threshold was held against: the value or one of its bounds
    sample: float | None
    reason: str


class Verdict(Frozen):
    """A gate's judgement on one run, with all it rests on: judging gate and evidence again gives the same."""

    outcome: GateOutcome
    summary: str
    gate: Gate
    evidence: Evidence
    results: tuple[RuleResult, ...]  # in the order of the gate's criteria
    judged_at: Instant
    evidence_hash: str

    def canonical_json(self) -> str:
        """The verdict as the one text that equal verdicts share."""
        return _canonical(self)


def overall(outcomes: Iterable[GateOutcome]) -> GateOutcome:
    """Fail wins over inconclusive, which wins over pass; of nothing at all, nothing is concluded."""
    seen = set(outcomes)
    if "fail" in seen:
        return "fail"
    return "pass" if seen == {"pass"} else "inconclusive"


def evidence_hash(gate: Gate, evidence: Evidence) -> str:
    """SHA-256 (hex) over evidence and gate; neither the order of the rules nor their file counts, every figure does."""
    rules = sorted(_canonical(rule) for rule in gate.criteria)
    head = _canonical(gate.model_copy(update={"criteria": ()}), exclude={"file"})
    text = json.dumps([_canonical(evidence), head, rules], separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _canonical(model: BaseModel, exclude: set[str] | None = None) -> str:
    values = model.model_dump(mode="json", exclude=exclude)
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
