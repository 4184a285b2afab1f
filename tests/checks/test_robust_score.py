"""The robust z-score: a floor on its scale, no score from too few points, and one odd point changes little."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.checks import robust_z

POINTS = [1.0, 2.0, 3.0, 4.0, 100.0]
VALUES = st.floats(-1e6, 1e6)


def test_a_score_is_the_distance_to_the_median_in_robust_standard_deviations():
    # Median 3, absolute deviations 2, 1, 0, 1, 97: their median is 1.
    assert robust_z(POINTS, 6.0, minimum_count=5, scale_floor=0.1) == pytest.approx(3 / 1.4826)


def test_too_few_points_have_no_score():
    assert robust_z(POINTS, 6.0, minimum_count=6, scale_floor=0.1) is None


@pytest.mark.parametrize(("floor", "fraction", "scale"), [(0.5, 0.0, 0.5), (0.5, 0.2, 2.0)])
def test_equal_points_are_measured_with_the_floor(floor, fraction, scale):
    score = robust_z([10.0] * 9, 11.0, minimum_count=3, scale_floor=floor, scale_floor_fraction=fraction)
    assert score == pytest.approx(1 / scale)


@given(st.lists(VALUES, min_size=3, max_size=60), VALUES)
def test_the_score_is_that_of_numpys_medians(before, point):
    centre = float(np.median(before))
    scale = max(1.4826 * float(np.median(np.abs(np.array(before) - centre))), 0.01)
    assert robust_z(before, point, minimum_count=3, scale_floor=0.01) == (point - centre) / scale
