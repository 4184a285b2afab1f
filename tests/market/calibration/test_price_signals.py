from dataclasses import replace

import numpy as np
import pytest

from gaelp.market.calibration.fitted import Fitted, TooLittle
from gaelp.market.calibration.price_signals import fit_price_click_correlation, fit_segment_prices


@pytest.mark.parametrize("name", ["won_log", "contested_log"])
def test_the_spread_of_segment_prices_is_recovered(name, truth, inside, request):
    prices = fit_segment_prices(request.getfixturevalue(name))
    assert inside(prices.log_sd, truth.price_log_sd)
    assert prices.log_sd.goodness > 0.85


def test_hourly_levels_lie_around_the_segment(won_log):
    prices = fit_segment_prices(won_log)
    weight = prices.hourly_precision
    mean = (weight * prices.hourly_level).sum(axis=1) / weight.sum(axis=1)
    assert mean == pytest.approx(prices.level, abs=0.05)


def test_a_segment_that_never_won_stands_at_the_level_of_the_others(contested_log):
    lost = contested_log.segment == 0
    log = replace(
        contested_log,
        won=contested_log.won & ~lost,
        price_micros=np.where(lost, -1, contested_log.price_micros),
    )
    prices = fit_segment_prices(log)
    assert prices.precision[0] == 0
    assert prices.level[0] == pytest.approx(prices.level[1:].mean())


@pytest.mark.parametrize("correlation", [-0.8, 0.8])
def test_dear_segments_that_click_more_are_seen(simulate, inside, correlation):
    log = simulate(3, segments=30, days=3, per_hour=50.0, correlation=correlation, click_rate=0.05)
    estimate = fit_price_click_correlation(log, fit_segment_prices(log))
    assert inside(estimate, correlation)
    assert np.sign(estimate.value) == np.sign(correlation)
    assert "segments" in estimate.method


def test_with_few_segments_hours_of_day_are_compared(simulate):
    log = simulate(4, segments=3, days=5, per_hour=200.0, click_rate=0.05, diurnal=0.3, daypart=0.5)
    estimate = fit_price_click_correlation(log, fit_segment_prices(log))
    assert isinstance(estimate, Fitted)
    assert "hours of day" in estimate.method
    assert -0.8 < estimate.value < 0.2  # prices peak at 13h, clicks at 20h: cos(7/24 of a turn) = -0.26


def test_without_clicks_there_is_no_correlation(won_log):
    nothing = fit_price_click_correlation(replace(won_log, click=None), fit_segment_prices(won_log))
    assert nothing == TooLittle(observations=0, reason="the log has no column click")
    few = fit_price_click_correlation(replace(won_log, click=np.zeros(won_log.rows, bool)), fit_segment_prices(won_log))
    assert isinstance(few, TooLittle)
