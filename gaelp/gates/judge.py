"""Judge evidence by the rules of a gate: doubt never passes, and each rule gives the reason for its outcome.

Each rule checks in this order: evidence that is too old, from the future or from before 1970 fails; a metric, bound or
sample size that is missing, NaN, infinite or impossible fails; bounds that do not enclose their value fail; a sample
that is too small is inconclusive; otherwise the figure is compared with the threshold.

Reasons and summaries are part of stored verdicts, and `check_replay` compares them: their wording must not change.
"""

import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from gaelp.config.field_types import in_utc
from gaelp.errors import BadInput, DataError
from gaelp.gates.criteria import Criterion, Gate
from gaelp.gates.evidence import Evidence
from gaelp.gates.metrics import problem_of_figure, problem_of_interval
from gaelp.gates.verdict import GateOutcome, RuleResult, Verdict, evidence_hash, overall

__all__ = ["check_replay", "judge"]

_CLOCKS_DIFFER = timedelta(minutes=1)  # between the machine that measured and the one that judges
_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)  # an earlier date means that the clock was never set
_SECONDS_PER_HOUR = 3600
_COMPARED_IN_WORDS = {"value": "", "lower_95": "the lower 95% bound of ", "upper_95": "the upper 95% bound of "}
_OUTCOME_IN_WORDS = {
    "pass": "passes, all {count} rules hold",
    "fail": "fails, {failed} of {count} rules",
    "inconclusive": "holds, {held} of {count} rules have too little data",
}
_NOTHING_LEARNED = "Nothing was learned: this is a tuned rule, judged like any agent."


def judge(gate: Gate, evidence: Evidence, now: datetime) -> Verdict:
    """Apply every rule to the evidence; `now` must have a time zone."""
    if now.utcoffset() is None:
        raise BadInput(f"{now.isoformat()} has no time zone: give an aware datetime, such as clock.now() returns")
    try:
        now = in_utc(now)
    except ValueError as problem:
        raise BadInput(f"{problem}: set the clock right") from problem
    results = tuple(_rule_result(rule, gate, evidence, now) for rule in gate.criteria)
    outcome = overall(result.outcome for result in results)
    return Verdict(
        outcome=outcome,
        summary=_summary(gate, evidence, outcome, results),
        gate=gate,
        evidence=evidence,
        results=results,
        judged_at=now,
        evidence_hash=evidence_hash(gate, evidence),
    )


def check_replay(verdict: Verdict) -> None:
    """Raise DataError for a stored verdict that differs from what its own gate and evidence give."""
    again = judge(verdict.gate, verdict.evidence, verdict.judged_at)
    if again.canonical_json() != verdict.canonical_json():
        raise DataError(
            f"the verdict on run {verdict.evidence.run_id!r} at gate {verdict.gate.name!r} says {verdict.outcome}"
            f" (evidence {verdict.evidence_hash[:12]}); its evidence gives {again.outcome}"
            f" ({again.evidence_hash[:12]}): it was changed after it was judged. Judge the run again."
        )


def _rule_result(rule: Criterion, gate: Gate, evidence: Evidence, now: datetime) -> RuleResult:
    outcome, reason = _outcome(rule, gate, evidence, now)
    metrics = evidence.metrics
    return RuleResult(
        criterion=rule,
        outcome=outcome,
        value=_finite(metrics.get(rule.metric)),
        compared=_finite(metrics.get(rule.figure)),
        sample=_finite(metrics.get(rule.sample_metric)),
        reason=reason,
    )


def _outcome(rule: Criterion, gate: Gate, evidence: Evidence, now: datetime) -> tuple[GateOutcome, str]:
    metrics = evidence.metrics
    if problem := _wrong_time(rule, evidence.measured_at, now) or _wrong_figures(rule, metrics):
        return "fail", problem
    sample = metrics[rule.sample_metric]
    if sample < rule.minimum_sample:
        return "inconclusive", (
            f"{rule.sample_metric} is {sample:g}, the rule needs {rule.minimum_sample} or more: collect more"
        )
    figure = metrics[rule.figure]
    return ("pass" if rule.limit.holds(figure) else "fail"), _comparison(rule, gate, figure)


def _wrong_figures(rule: Criterion, metrics: Mapping[str, float]) -> str | None:
    """Return why the figures of a rule cannot be judged; None if they can."""
    value, lower, upper = (metrics.get(f"{rule.metric}{end}") for end in ("", "_lower_95", "_upper_95"))
    if problem := problem_of_figure(rule.metric, value):
        return problem
    compared = metrics.get(rule.figure)
    if compared is None or not math.isfinite(compared):
        return problem_of_figure(rule.figure, compared)
    if value is not None and (problem := problem_of_interval(rule.metric, value, lower, upper)):
        return problem
    return problem_of_figure(rule.sample_metric, metrics.get(rule.sample_metric))


def _wrong_time(rule: Criterion, measured_at: datetime, now: datetime) -> str | None:
    if measured_at < _EARLIEST:
        return f"measured at {measured_at.isoformat()}, before {_EARLIEST:%Y}: set the clock right and measure again"
    age = now - measured_at
    if age < -_CLOCKS_DIFFER:
        return f"measured at {measured_at.isoformat()}, after it is judged: set the clocks right and measure again"
    hours = age.total_seconds() / _SECONDS_PER_HOUR
    if rule.maximum_age_hours is not None and hours > rule.maximum_age_hours:
        return f"measured {hours:.2f} hours ago, at most {rule.maximum_age_hours:g} are allowed: measure again"
    return None


def _comparison(rule: Criterion, gate: Gate, figure: float) -> str:
    value, limit = f"{figure:.6g}", f"{rule.threshold:.6g}"
    if value == limit and figure != rule.threshold:
        value, limit = repr(figure), repr(rule.threshold)
    watched = f" (holds at every look, alpha {gate.alpha:g})" if rule.sequential and gate.alpha is not None else ""
    subject = f"{_COMPARED_IN_WORDS[rule.compare]}{rule.metric}"
    return f"{subject} is {value}{watched}; asked: {rule.limit.words} {limit}"


def _summary(gate: Gate, evidence: Evidence, outcome: GateOutcome, results: tuple[RuleResult, ...]) -> str:
    outcomes = [result.outcome for result in results]
    said = _OUTCOME_IN_WORDS[outcome].format(
        count=len(outcomes), failed=outcomes.count("fail"), held=outcomes.count("inconclusive")
    )
    text = f"Gate {gate.name}: {evidence.agent} {said}."
    return text if evidence.learned else f"{text} {_NOTHING_LEARNED}"


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
