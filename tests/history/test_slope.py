import numpy as np
import pytest

from gaelp.errors import DataError
from gaelp.history.policy_value import mean_value
from gaelp.history.slope import choose_by_slope


def candidate(value, half_width, size=1000):
    """Rows with this mean, whose 90% interval has about this half width."""
    rows = np.resize([-1.0, 1.0], size) * half_width * np.sqrt(size) / 1.646
    return mean_value("candidate", value + rows)


@pytest.mark.parametrize("improved", [False, True])
def test_the_narrowest_candidate_that_agrees_with_all_wider_ones_is_chosen(improved):
    candidates = [candidate(1.0, 0.5), candidate(1.2, 0.2), candidate(1.3, 0.1), candidate(9.0, 0.01)]
    assert choose_by_slope(candidates, improved=improved) == 2
    assert choose_by_slope(candidates[::-1], improved=improved) == 1


@pytest.mark.parametrize("improved", [False, True])
def test_without_a_sign_of_bias_the_least_variance_wins_and_with_one_at_once_the_widest(improved):
    assert choose_by_slope([candidate(1.0, 0.5), candidate(1.0, 0.1)], improved=improved) == 1
    assert choose_by_slope([candidate(1.0, 0.1), candidate(9.0, 0.05)], improved=improved) == 0


def test_the_two_versions_differ_where_their_constants_do():
    candidates = [candidate(0.0, 1.0), candidate(2.0, 0.2)]
    assert choose_by_slope(candidates, improved=False) == 1  # 2 c_i + 2 c_j = 2.4
    assert choose_by_slope(candidates, improved=True) == 0  # c_i + 1.45 c_j = 1.65


def test_there_must_be_something_to_choose_from():
    with pytest.raises(DataError, match="no estimate to choose from"):
        choose_by_slope([])
