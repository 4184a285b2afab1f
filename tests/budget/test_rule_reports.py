"""A verdict becomes alerts by severity and violations for what stopped; a notice is no violation."""

from datetime import UTC, datetime

from gaelp.budget.rule_judge import BudgetRuleResult, RuleVerdict
from gaelp.budget.rule_reports import alerts_of, violations_of

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


def result(rule_id, decision, severity):
    return BudgetRuleResult(
        rule_id=rule_id,
        decision=decision,
        severity=severity,
        value=5,
        limit=4,
        reason=f"{rule_id} broke",
        why="because",
    )


VERDICT = RuleVerdict(
    decision="kill",
    reason="day-limit: broke",
    rule_set="campaign",
    results=(
        result("day-limit", "kill", "critical"),
        result("roi-floor", "hold", "warning"),
        result("day-spend-80", "allow", "info"),
        result("loss-cap", "allow", None),
    ),
    judged_at=NOW,
)


def test_each_rule_with_something_to_say_is_its_own_alert():
    alerts = alerts_of(VERDICT, "campaign-7")
    assert [(alert.severity, alert.key) for alert in alerts] == [
        ("critical", "day-limit/campaign-7"),
        ("warning", "roi-floor/campaign-7"),
        ("info", "day-spend-80/campaign-7"),
    ]
    assert "because" in alerts[0].body
    assert alerts[0].context == {"rule_set": "campaign", "decision": "kill", "value": 5, "limit": 4}


def test_what_holds_or_kills_is_a_violation_and_a_notice_is_none():
    violations = violations_of(VERDICT, "campaign-7")
    assert [(outcome.severity, outcome.rule) for outcome in violations] == [
        ("critical", "day-limit"),
        ("warning", "roi-floor"),
    ]
    assert {outcome.at for outcome in violations} == {NOW}
