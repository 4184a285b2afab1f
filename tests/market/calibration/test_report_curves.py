"""Curves of campaigns that a budget holds back are those of the others, with intervals that say how few these are."""

import numpy as np
import pytest

from gaelp.market.calibration import report_curves
from gaelp.market.calibration.segment_effects import SegmentEffects
from gaelp.market.calibration.win_curve import BID_GRID, WinCurves

CAMPAIGN = np.repeat(np.arange(4), 2)


def curves(coefficient, variance):
    segments = len(CAMPAIGN)
    effects = SegmentEffects(
        coefficient=np.full((segments, 5), coefficient),
        covariance=np.tile(np.eye(5) * variance, (segments, 1, 1)),
        mean=np.zeros(5),
        spread=np.eye(5),
    )
    grid = np.zeros((segments, len(BID_GRID)))
    ones = np.ones(segments)
    return WinCurves(effects, ones * 1e6, -ones, ones, 0.0, 0.0, 27, grid, grid)


@pytest.mark.parametrize(
    ("had_money", "factor"), [([True, False, False, False], 2.0), ([True, True, True, False], 4 / 3)]
)
def test_the_fewer_campaigns_had_money_left_the_less_is_known_of_the_others(had_money, factor):
    had_money = np.array(had_money)
    both = report_curves._unlimited(curves(1.0, 0.5), curves(2.0, 0.1), had_money, CAMPAIGN).effects
    own = had_money[CAMPAIGN]
    assert (both.coefficient[own] == 2.0).all()
    assert (both.coefficient[~own, 1:] == 1.0).all()
    assert both.covariance[own] == pytest.approx(curves(2.0, 0.1).effects.covariance[own])
    assert both.covariance[~own, 1, 1] == pytest.approx(0.5 * factor)
    assert both.covariance[~own, 0, 0] == pytest.approx(0.1)  # volumes are seen by everybody
