import numpy as np
import pytest

from gaelp.errors import DataError
from gaelp.history.array_checks import checked_codes, checked_columns, checked_share, checked_weights


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"reward": [], "weight": []}, "reward is empty"),
        ({"reward": [1.0, 2.0], "weight": [1.0]}, "shapes differ: reward .2,., weight .1,."),
        ({"reward": [1.0, np.nan]}, "reward has 1 missing or NaN entries of 2"),
        ({"reward": [1.0, np.inf, -np.inf]}, "reward has 2 infinite entries of 3"),
    ],
)
def test_columns_that_carry_no_estimate_are_refused_by_name(columns, message):
    with pytest.raises(DataError, match=message):
        checked_columns(**columns)


def test_good_columns_come_back_as_floats_in_order():
    first, second = checked_columns(a=[1, 2], b=[3, 4])
    assert first.dtype == np.float64
    assert second.tolist() == [3.0, 4.0]


@pytest.mark.parametrize(("weight", "message"), [([1.0, -0.1], "1 negative"), ([0.0, 0.0], "0 everywhere")])
def test_weights_below_zero_or_all_zero_are_refused(weight, message):
    with pytest.raises(DataError, match=message):
        checked_weights(weight)


def test_labels_of_any_type_become_numbers():
    numbers, count = checked_codes(["b", "a", "b"], 3, "clusters")
    assert numbers.tolist() == [1, 0, 1]
    assert count == 2


def test_a_label_for_every_row_is_needed():
    with pytest.raises(DataError, match=r"clusters has shape \(2,\).*3 decisions"):
        checked_codes([1, 2], 3, "clusters")


@pytest.mark.parametrize("share", [0.0, 1.0, 95.0])
def test_a_confidence_is_a_share(share):
    with pytest.raises(DataError, match="between 0 and 1"):
        checked_share(share, "confidence")
