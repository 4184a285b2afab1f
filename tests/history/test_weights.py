import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.errors import DataError
from gaelp.history.weights import clipped_actions, importance_weights, normal_log_density, shifted_normal_weights


@pytest.mark.parametrize(
    ("target", "logging", "message"),
    [
        ([0.5, 0.5], [0.0, 0.5], "logging_density is 0 or below for 1 decisions of 2"),
        ([0.5, 0.5], [np.nan, 0.5], "logging_density is missing for 1 decisions"),
        ([0.5, np.nan], [0.5, 0.5], "target_density is missing for 1"),
        ([-0.5, 0.5], [0.5, 0.5], "target_density is below 0 for 1"),
        ([0.5], [0.5, 0.5], "shapes differ"),
        ([], [], "empty"),
    ],
)
def test_densities_that_make_no_weight_are_refused_each_with_its_reason(target, logging, message):
    with pytest.raises(DataError, match=message):
        importance_weights(target, logging)


def test_the_same_densities_give_weights_of_exactly_one():
    density = np.random.default_rng(1).uniform(0.01, 3, 100)
    assert (importance_weights(density, density) == 1).all()


@given(shift=st.floats(-0.4, 0.4), sd=st.floats(0.2, 1.0))
def test_shifted_weights_are_the_ratio_of_the_two_normal_densities(shift, sd):
    action = np.linspace(-1, 1, 9)
    shifts = np.full(9, shift)
    ratio = np.exp(normal_log_density(action, shift, sd) - normal_log_density(action, 0.0, sd))
    assert shifted_normal_weights(action, shifts, sd=sd) == pytest.approx(ratio, rel=1e-9)


def test_a_log_whose_bids_never_varied_has_no_weights():
    with pytest.raises(DataError, match="must vary at random"):
        shifted_normal_weights([0.0], [0.1], sd=0.0)


def test_actions_are_clipped_to_the_support_and_the_share_inside_is_reported():
    clipped, inside = clipped_actions(np.log([1.0, 1.4, 2.0, 0.4]), reach=1.5)
    assert np.exp(clipped) == pytest.approx([1.0, 1.4, 1.5, 1 / 1.5])
    assert inside == 0.5
    with pytest.raises(DataError, match="factor above 1"):
        clipped_actions([0.0], reach=1.0)
