import pytest
from pydantic import ValidationError

from gaelp.checks.goal import Goal


def goal(**changes):
    return Goal(**{"metric": "reward", "bound": "at_least", "threshold": 0.7, "compare": "lower_95", **changes})


def test_the_figure_is_the_bound_that_is_compared():
    assert goal().figure == "reward_lower_95"
    assert goal(compare="value").figure == "reward"
    assert goal(bound="at_most", compare="upper_95").figure == "reward_upper_95"


@pytest.mark.parametrize(
    "changes", [{"compare": "upper_95"}, {"bound": "at_most"}, {"metric": "reward_lower_95"}, {"metric": "Reward"}]
)
def test_a_hopeful_bound_cannot_be_chosen(changes):
    with pytest.raises(ValidationError):
        goal(**changes)
