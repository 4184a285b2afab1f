"""A gate is a file: what the four ask for, and what a file may not say."""

import pytest
import yaml

from gaelp.config.places import names_in, repository_root
from gaelp.errors import ConfigError
from gaelp.gates.criteria import Criterion, Gate, load_gate
from gaelp.types import Phase

SHIPPED = repository_root() / "configs" / "gates"
RULE = {
    "metric": "reward",
    "at_least": 0.7,
    "compare": "lower_95",
    "sample_metric": "episodes",
    "minimum_sample": 200,
    "why": "a floor",
}
ON_STORED_DATA = {"failed_expectations": ("at_most", 0), "budget_breaches": ("at_most", 0)}
AGREED = {
    "simulation": {
        "reward_lower_95": ("at_least", 0.7),
        "success_rate_lower_95": ("at_least", 0.8),
        "lead_over_constant_lower_95": ("at_least", 0.05),
        "lead_over_best_rule_lower_95": ("at_least", -0.005),
        "worst_group_lead": ("at_least", -0.02),
        "ruined_share_upper_95": ("at_most", 0.0075),
        "shifted_lead_over_best_rule_lower_95": ("at_least", -0.02),
        "shifted_ruined_share_upper_95": ("at_most", 0.015),
        **ON_STORED_DATA,
    },
    "history": {
        "simulator_match": ("at_least", 0.95),
        "prediction_accuracy_lower_95": ("at_least", 0.85),
        "correlation_with_actuals_lower_95": ("at_least", 0.8),
        "lift_over_logging_lower_95": ("above", 0),
        "lift_over_incumbent_lower_95": ("at_least", -0.05),
        "harmed_groups": ("at_most", 0),
        **ON_STORED_DATA,
    },
    "pilot": {
        "roi_lower_95": ("at_least", 0.05),
        "positive_roi_streak": ("at_least", 3),
        "budget_efficiency": ("at_least", 0.8),
        "safety_violations": ("at_most", 0),
        "skewed_features": ("at_most", 0),
        **ON_STORED_DATA,
    },
    "scale": {
        "improvement_lower_95": ("at_least", 0.15),
        "campaign_success_rate_lower_95": ("at_least", 0.9),
        "transfer_gain_share_lower_95": ("at_least", 0.8),
        "safety_violations": ("at_most", 0),
        **ON_STORED_DATA,
    },
}


def rule(**changes):
    return {**RULE, **changes}


def bounded(bound, **changes):
    """The rule with another bound."""
    values = {bound: RULE["at_least"], **RULE, **changes}
    return values if bound == "at_least" else {key: value for key, value in values.items() if key != "at_least"}


def loaded(tmp_path, *rules, **gate):
    path = tmp_path / "own.yaml"
    values = {"name": "own", "follows": "simulation", "criteria": list(rules or [RULE]), **gate}
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return load_gate(path)


@pytest.mark.parametrize("phase", list(Phase))
def test_every_phase_has_a_gate_of_its_name_with_the_agreed_rules(phase):
    gate = load_gate(phase)
    assert (gate.name, gate.follows) == (phase, phase)
    assert {rule.figure: (rule.bound, rule.threshold) for rule in gate.criteria} == AGREED[phase]


def test_every_shipped_gate_is_called_as_its_file_and_each_rule_limits_its_age():
    for name in names_in("gates"):
        gate = load_gate(SHIPPED / f"{name}.yaml")
        assert gate.name == name
        assert all(rule.maximum_age_hours for rule in gate.criteria)


def test_the_improvement_at_scale_is_watched_with_a_stated_alpha():
    gate = load_gate("scale")
    assert gate.alpha == 0.05
    assert [rule.metric for rule in gate.criteria if rule.sequential] == ["improvement"]


def test_a_rule_without_a_limit_is_recorded_as_before_there_was_one():
    assert "clip_at" not in Criterion.model_validate(RULE).model_dump()
    limited = Criterion.model_validate(rule(sequential=True, clip_at=50))
    assert limited.model_dump()["clip_at"] == 50
    assert Criterion.model_validate_json(limited.model_dump_json()) == limited


@pytest.mark.parametrize(
    ("bound", "compare", "figure"),
    [
        ("at_least", "value", "reward"),
        ("at_least", "lower_95", "reward_lower_95"),
        ("above", "lower_95", "reward_lower_95"),
        ("at_most", "upper_95", "reward_upper_95"),
        ("below", "upper_95", "reward_upper_95"),
    ],
)
def test_a_rule_compares_the_value_or_its_cautious_bound(bound, compare, figure):
    assert Criterion.model_validate(bounded(bound, compare=compare)).figure == figure


@pytest.mark.parametrize(
    ("bound", "compare"),
    [("at_least", "upper_95"), ("above", "upper_95"), ("at_most", "lower_95"), ("below", "lower_95")],
)
def test_the_hopeful_bound_is_refused(tmp_path, bound, compare):
    with pytest.raises(ConfigError, match=f"reward: {bound} compares {compare}, the hopeful bound; allowed: value"):
        loaded(tmp_path, bounded(bound, compare=compare))


@pytest.mark.parametrize("field", sorted(RULE.keys() - {"at_least"}))
def test_a_rule_without_a_required_field_is_refused_by_its_name(tmp_path, field):
    values = {key: value for key, value in RULE.items() if key != field}
    with pytest.raises(ConfigError, match=rf"criteria\[0\]\.{field}: required key is missing"):
        loaded(tmp_path, values)


@pytest.mark.parametrize(
    ("changes", "seen"),
    [
        ({"atleast": 0.5}, r"atleast: unknown key; .* Did you mean criteria\[0\]\.at_least\?"),
        ({"at_least": float("nan")}, "finite number"),
        ({"at_least": "0.7"}, "saw '0.7'"),
        ({"at_least": None}, r"criteria\[0\]: saw no limit; allowed: exactly one of at_least, at_most, above, below"),
        ({"above": 0.5}, r"criteria\[0\]: saw at_least, above; allowed: exactly one"),
        ({"minimum_sample": 0}, "greater than 0"),
        ({"maximum_age_hours": 0}, "greater than 0"),
        ({"why": ""}, "1 to 400 characters"),
        ({"metric": "reward_lower_95"}, "Say under compare which of its bounds counts"),
        ({"metric": "Reward!"}, "saw 'Reward!'"),
        ({"compare": "value", "sequential": True}, "sequential compares value"),
        ({"sequential": True}, "the gate has no alpha"),
        ({"clip_at": 50}, "clip_at=50 belongs to a sequential rule"),
        ({"clip_at": 0, "sequential": True}, "greater than 0"),
    ],
)
def test_a_wrong_value_is_refused_in_words(tmp_path, changes, seen):
    with pytest.raises(ConfigError, match=seen):
        loaded(tmp_path, rule(**changes))


def test_a_gate_without_rules_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="criteria: saw a list of 0; allowed: 1 to 64 entries"):
        loaded(tmp_path, criteria=[])


def test_an_alpha_without_a_sequential_rule_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"alpha=0\.05, but no rule is sequential"):
        loaded(tmp_path, alpha=0.05)


def test_the_same_bound_on_the_same_metric_twice_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="two rules ask for at_least of 'reward'"):
        loaded(tmp_path, RULE, rule(at_least=0.6, compare="value"))


def test_a_gate_that_does_not_exist_is_refused_with_those_that_do():
    with pytest.raises(ConfigError, match="simulation"):
        load_gate("simulations")


def test_a_gate_can_be_built_without_a_file():
    assert Gate.model_validate({"name": "own", "follows": "pilot", "criteria": [RULE]}).follows is Phase.PILOT
