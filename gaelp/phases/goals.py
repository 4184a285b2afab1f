"""The rules of the first gate as goals of training: how far an agent is from each, as validation episodes tell it."""

from gaelp.checks import Goal
from gaelp.gates import Gate

__all__ = ["training_goals"]

# Training knows the rule inside the agent; which tuned rule is best is found out when all of them are judged.
_TOLD_AS = {"lead_over_best_rule": "lead_over_rule"}


def training_goals(gate: Gate) -> tuple[Goal, ...]:
    """One goal for each rule, with its threshold and the bound it compares; the gate itself judges other episodes."""
    return tuple(
        Goal.model_validate(
            {
                rule.bound: rule.threshold,
                "metric": _TOLD_AS.get(rule.metric, rule.metric),
                "compare": rule.compare,
            }
        )
        for rule in gate.criteria
    )
