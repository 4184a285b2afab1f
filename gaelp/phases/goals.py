"""The rules of the first gate as training goals, measured on validation episodes."""

from gaelp.checks import Goal
from gaelp.gates import Gate

__all__ = ["training_goals"]

# Training compares with the rule inside the agent; the best tuned rule is known only when all of them are judged.
_NAME_IN_TRAINING = {"lead_over_best_rule": "lead_over_rule"}
# A few hundred validation episodes cannot bound a rare share: with 256, none ruined may still be 1.5%.
_BY_VALUE = frozenset({"ruined_share"})
_OF_STORED_DATA = frozenset({"failed_expectations", "budget_breaches"})  # measured on what the whole phase stored
_SHIFTED = "shifted_"  # the market with other parameters is for judging alone: training must not aim at it


def training_goals(gate: Gate) -> tuple[Goal, ...]:
    """Return one goal for each rule on the market itself, with its threshold; the gate itself judges other episodes."""
    return tuple(
        Goal.model_validate(
            {
                rule.bound: rule.threshold,
                "metric": _NAME_IN_TRAINING.get(rule.metric, rule.metric),
                "compare": "value" if rule.metric in _BY_VALUE else rule.compare,
            }
        )
        for rule in gate.criteria
        if not rule.metric.startswith(_SHIFTED) and rule.metric not in _OF_STORED_DATA
    )
