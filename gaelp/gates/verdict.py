"""The verdict of a gate: every rule with its figures and reason, in a form that can be hashed, stored and replayed."""

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
    """The outcome of one rule; a figure that is missing or not finite is None, and the reason names it."""

    criterion: Criterion
    outcome: GateOutcome
    value: float | None  # the metric itself
    compared: float | None  # with the threshold: the value or one of its bounds
    sample: float | None
    reason: str


class Verdict(Frozen):
    """A gate's judgement on one run, with gate and evidence: judging these again gives the same verdict."""

    outcome: GateOutcome
    summary: str
    gate: Gate
    evidence: Evidence
    results: tuple[RuleResult, ...]  # in the order of the gate's criteria
    judged_at: Instant
    evidence_hash: str

    def canonical_json(self) -> str:
        """The verdict as text; equal verdicts give the same text."""
        return _canonical(self)


def overall(outcomes: Iterable[GateOutcome]) -> GateOutcome:
    """Fail wins over inconclusive, which wins over pass; no outcomes at all are inconclusive."""
    kinds = set(outcomes)
    if "fail" in kinds:
        return "fail"
    return "pass" if kinds == {"pass"} else "inconclusive"


def evidence_hash(gate: Gate, evidence: Evidence) -> str:
    """SHA-256 (hex) over evidence and gate: every figure counts, the order of the rules and their file do not."""
    rules = sorted(_canonical(rule) for rule in gate.criteria)
    head = _canonical(gate.model_copy(update={"criteria": ()}), exclude={"file"})
    text = json.dumps([_canonical(evidence), head, rules], separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _canonical(model: BaseModel, exclude: set[str] | None = None) -> str:
    values = model.model_dump(mode="json", exclude=exclude)
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
