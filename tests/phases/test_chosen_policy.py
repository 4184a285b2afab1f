"""What stored episodes call a policy."""

from gaelp.phases.chosen_policy import policy_version
from gaelp.training.recipe import load_recipe


def test_a_learned_policy_is_called_after_its_algorithm_and_an_unchanged_rule_after_the_rule():
    recipe = load_recipe("ppo").with_rule("mpc")
    assert policy_version(recipe, "0123456789abcdef", learned=True) == "ppo-0123456789ab"
    assert policy_version(recipe, "0123456789abcdef", learned=False) == "mpc-0123456789ab"
