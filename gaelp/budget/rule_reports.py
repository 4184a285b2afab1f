"""Convert a verdict of the money rules to alerts and violations."""

from datetime import datetime

from gaelp.budget.rule_judge import BudgetRuleResult, RuleVerdict
from gaelp.budget.rules import RuleDecision
from gaelp.budget.violations import Violation
from gaelp.observability.alerts import Alert

__all__ = ["alerts_of", "violations_of"]

_IN_WORDS: dict[RuleDecision, str] = {"allow": "notice", "hold": "held", "kill": "stopped"}
_SOURCE = "budget"


def alerts_of(verdict: RuleVerdict, scope: str, *, at: datetime | None = None) -> tuple[Alert, ...]:
    """One alert for each rule that needs one: a kill is critical, a hold a warning.

    `at` is people's time, if the verdict's is that of a platform with a time of its own.
    """
    return tuple(
        Alert(
            severity=result.severity,
            source=_SOURCE,
            key=f"{result.rule_id}/{scope}",
            title=f"{scope} {_IN_WORDS[result.decision]} by {result.rule_id}"[:200],
            body=f"{result.reason}\n{result.why}",
            at=at or verdict.judged_at,
            context=_context(verdict, result),
        )
        for result in verdict.results
        if result.severity is not None
    )


def violations_of(verdict: RuleVerdict, scope: str, *, at: datetime | None = None) -> tuple[Violation, ...]:
    """One violation for each rule that holds or kills; a notice is no violation. `at` is as in `alerts_of`."""
    return tuple(
        Violation(
            severity=result.severity,
            scope=scope,
            rule=result.rule_id,
            what=result.reason,
            at=at or verdict.judged_at,
            context=_context(verdict, result),
        )
        for result in verdict.results
        if result.decision != "allow" and result.severity is not None
    )


def _context(verdict: RuleVerdict, result: BudgetRuleResult) -> dict[str, str | int | float | None]:
    return {"rule_set": verdict.rule_set, "decision": result.decision, "value": result.value, "limit": result.limit}
