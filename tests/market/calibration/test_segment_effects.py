"""Segments fitted together: one that cannot be improved keeps none of the others from their best fit."""

import numpy as np
import pytest

from gaelp.market.calibration.segment_effects import Evaluation, fit_segment_effects


def test_a_segment_that_finds_no_way_up_does_not_stop_the_others():
    peak = np.array([3.0, -2.0, 1.0])

    def model(coefficient):
        """A parabola for each segment; the slope of the last one points downhill."""
        apart = coefficient[:, 0] - peak
        sign = np.array([1.0, 1.0, -1.0])
        return Evaluation(-0.5 * 100 * apart**2, (-100 * sign * apart)[:, None, None], np.full((3, 1, 1), 100.0))

    start = np.zeros((3, 1))
    effects = fit_segment_effects(model, start, np.array([10.0]), known_mean=np.zeros(1))
    assert effects.coefficient[:2, 0] == pytest.approx(peak[:2], abs=0.01)
    assert effects.coefficient[2, 0] == pytest.approx(0.0, abs=1e-6)
