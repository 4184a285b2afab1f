"""The limit of a release's bets follows from days before it."""

import numpy as np
import pytest

from gaelp.bench.observation_limit import observation_limit
from gaelp.errors import BadInput
from gaelp.release.pairs import PairRules

RULES = PairRules(unit_micros=10_000_000)


def test_the_limit_is_a_multiple_of_the_largest_observation_of_either_side():
    quiet, rare = np.full((14, 20), 5_000_000), np.full((14, 20), 5_000_000)
    rare[3, 7] = 200_000_000
    for sides in ((quiet, rare), (rare, quiet)):
        assert observation_limit(*sides, RULES, factor=2.0) == 20.0


@pytest.mark.parametrize("values", [np.full(50, 5_000_000), np.zeros(300, np.int64)])
def test_days_that_cannot_show_a_large_value_give_no_limit(values):
    with pytest.raises(BadInput, match="earlier campaign-days of the control"):
        observation_limit(np.full(300, 5_000_000), values, RULES)
