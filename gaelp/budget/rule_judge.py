"""Judge readings by a rule set: kill wins over hold, hold over allow, and an unknown figure never allows.

Each rule is judged in this order: a needed figure that is missing, not finite, too old or from the future leads to the
rule's `unknown` decision; with too small a sample the rule allows; otherwise the figures are compared exactly.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from gaelp.budget.rules import BudgetRule, RuleDecision, RuleReading, RuleSet, ShareOf
from gaelp.checks import Limit
from gaelp.config.base import Frozen
from gaelp.errors import BadInput
from gaelp.observability.alerts import Severity

__all__ = ["BudgetRuleResult", "RuleVerdict", "decide", "judge_rules", "worst"]

_CLOCKS_DIFFER = timedelta(minutes=1)  # between the machine that measured and the one that judges
_ORDER: tuple[RuleDecision, ...] = ("allow", "hold", "kill")
_NUMBERS = (int, float)  # exact types: bool is a subclass of int, and numpy's integers overflow silently
_LARGEST = 2**63


class BudgetRuleResult(Frozen):
    """The result of one rule; a missing or non-finite figure is None, and the reason says which."""

    rule_id: str
    decision: RuleDecision
    severity: Severity | None  # None: no alert
    value: int | float | None
    limit: int | float | None
    reason: str
    why: str


class RuleVerdict(Frozen):
    """The combined decision, with the result of every rule."""

    decision: RuleDecision
    reason: str
    rule_set: str
    results: tuple[BudgetRuleResult, ...]  # in the order of the rule set
    judged_at: datetime

    @property
    def alerts(self) -> tuple[BudgetRuleResult, ...]:
        """The results that need an alert."""
        return tuple(result for result in self.results if result.severity is not None)


def worst(decisions: Iterable[RuleDecision]) -> RuleDecision:
    """Kill wins over hold, which wins over allow; no decision at all means hold."""
    return max(decisions, key=_ORDER.index, default="hold")


def judge_rules(rules: RuleSet, readings: Mapping[str, RuleReading], now: datetime) -> RuleVerdict:
    """Judge the readings by every rule; `now` must have a time zone."""
    if now.utcoffset() is None:
        raise BadInput(f"{now.isoformat()} has no time zone: give an aware datetime, such as clock.now() returns")
    results = tuple(_result(rule, readings, now) for rule in rules.rules)
    decision = worst(result.decision for result in results)
    decisive = [f"{result.rule_id}: {result.reason}" for result in results if result.decision == decision]
    return RuleVerdict(
        decision=decision,
        reason=f"all {len(results)} rules allow" if decision == "allow" else "; ".join(decisive),
        rule_set=rules.name,
        results=results,
        judged_at=now.astimezone(UTC),
    )


def _result(rule: BudgetRule, readings: Mapping[str, RuleReading], now: datetime) -> BudgetRuleResult:
    decision, alert, reason = decide(rule, readings, now)
    return BudgetRuleResult(
        rule_id=rule.id,
        decision=decision,
        severity=_severity(rule, decision) if alert else None,
        value=_finite(readings.get(rule.figure)),
        limit=_limit(rule, readings),
        reason=reason or _comparison(rule, readings),
        why=rule.why,
    )


def _severity(rule: BudgetRule, decision: RuleDecision) -> Severity:
    return rule.alert_severity if decision == "allow" else "critical" if decision == "kill" else "warning"


def decide(rule: BudgetRule, readings: Mapping[str, RuleReading], now: datetime) -> tuple[RuleDecision, bool, str]:
    """The decision of a rule, whether it needs an alert, and why it was not compared (empty if it was)."""
    for name in rule.figures:
        if doubt := _doubt(name, readings.get(name), rule, now):
            return rule.unknown, True, doubt
    if rule.sample_figure is not None and rule.minimum_sample is not None:
        sample = _number(readings[rule.sample_figure])
        if sample < rule.minimum_sample:
            return "allow", False, f"not judged yet: {rule.sample_figure} is {sample:g}, {rule.minimum_sample:g} needed"
    if _kept(rule, readings):
        return "allow", False, ""
    if rule.only_if is not None and not rule.only_if.limit.holds(_number(readings[rule.only_if.figure])):
        return "allow", False, ""
    return ("allow" if rule.breach == "alert" else rule.breach), True, ""


def _kept(rule: BudgetRule, readings: Mapping[str, RuleReading]) -> bool:
    value, threshold = _number(readings[rule.figure]), rule.threshold
    if not isinstance(threshold, ShareOf):
        return Limit(rule.bound, threshold).holds(value)
    hundredfold, limit = _multiplied_out(value, _number(readings[threshold.of]), threshold.percent)
    return Limit(rule.bound, limit).holds(hundredfold)


def _comparison(rule: BudgetRule, readings: Mapping[str, RuleReading]) -> str:
    share = rule.share
    asked = (
        f"{rule.threshold:.12g}"
        if share is None
        else f"{share.percent}% of {share.of}, {_number(readings[share.of]):.12g}"
    )
    words = rule.bound.replace("_", " ")
    text = f"{rule.figure} is {_number(readings[rule.figure]):.12g}; asked: {words} {asked}"
    if rule.only_if is None:
        return text
    condition, other = rule.only_if.limit, _number(readings[rule.only_if.figure])
    return f"{text}, or {rule.only_if.figure}, which is {other:g}, not {condition.words} {rule.only_if.threshold:g}"


def _multiplied_out(value: float, limit: float, percent: int) -> tuple[Fraction | int, Fraction | int]:
    """Both sides times 100, exactly: micros are never compared through a float."""
    if isinstance(value, int) and isinstance(limit, int):
        return value * 100, limit * percent
    return Fraction(value) * 100, Fraction(limit) * percent


def _doubt(name: str, reading: RuleReading | None, rule: BudgetRule, now: datetime) -> str | None:
    """Why a figure is unusable; None if it is usable."""
    if reading is None or reading.value is None:
        return f"{name} is missing: an unknown figure is never allowed"
    if type(reading.value) not in _NUMBERS:
        return f"{name} is {reading.value!r} ({type(reading.value).__name__}): only int and float are accepted"
    if not -_LARGEST <= reading.value <= _LARGEST:  # NaN neither
        value = "NaN" if reading.value != reading.value else "infinite or beyond 64 bits"
        return f"{name} is {value}: not a usable figure"
    return _doubt_of_time(name, reading.measured_at, rule, now)


def _doubt_of_time(name: str, measured_at: datetime, rule: BudgetRule, now: datetime) -> str | None:
    if measured_at.utcoffset() is None:
        return f"{name} was measured at {measured_at.isoformat()}, which has no time zone"
    age = now - measured_at
    if age > rule.maximum_age:
        return f"{name} is {age.total_seconds() / 60:.0f} minutes old, at most {rule.maximum_age_minutes:g} are allowed"
    if age < -_CLOCKS_DIFFER:
        return f"{name} was measured {-age.total_seconds() / 60:.0f} minutes in the future: check the clocks"
    return None


def _limit(rule: BudgetRule, readings: Mapping[str, RuleReading]) -> int | float | None:
    threshold = rule.threshold
    if not isinstance(threshold, ShareOf):
        return threshold
    whole = _finite(readings.get(threshold.of))
    return None if whole is None else whole * threshold.percent / 100


def _number(reading: RuleReading) -> int | float:
    assert reading.value is not None  # noqa: S101 - checked by _doubt
    return reading.value


def _finite(reading: RuleReading | None) -> int | float | None:
    value = None if reading is None else reading.value
    return value if type(value) in _NUMBERS and value is not None and -_LARGEST <= value <= _LARGEST else None
