from gaelp.gates import load_gate
from gaelp.phases.data_evidence import without_data_rules
from gaelp.phases.goals import training_goals


def test_every_rule_on_the_market_itself_is_a_goal_with_its_own_threshold():
    gate = load_gate("simulation")
    goals = training_goals(gate)
    rules = [rule for rule in without_data_rules(gate).criteria if not rule.metric.startswith("shifted_")]
    assert len(gate.criteria) - 4 == len(goals) == len(rules)  # two on the shifted market, two on stored data
    for goal, rule in zip(goals, rules, strict=True):
        assert (goal.bound, goal.threshold) == (rule.bound, rule.threshold)
        assert goal.compare == ("value" if rule.metric == "ruined_share" else rule.compare)


def test_a_changed_threshold_of_the_gate_changes_the_goal():
    gate = load_gate("simulation")
    stricter = gate.criteria[0].model_copy(update={"at_least": None, "above": 0.93})
    changed = gate.model_copy(update={"criteria": (stricter, *gate.criteria[1:])})
    assert (training_goals(changed)[0].threshold, training_goals(changed)[0].bound) == (0.93, "above")


def test_the_best_rule_is_known_in_training_as_the_rule_inside():
    metrics = [goal.metric for goal in training_goals(load_gate("simulation"))]
    assert "lead_over_rule" in metrics
    assert "lead_over_best_rule" not in metrics
