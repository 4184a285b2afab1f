from dataclasses import replace

import numpy as np
import pytest

from gaelp.market.calibration.fitted import TooLittle
from gaelp.market.calibration.responses import fit_click_rates, fit_responses
from gaelp.market.spec import DelaySpec


@pytest.mark.parametrize("name", ["won_log", "contested_log"])
def test_clicks_conversions_and_their_wave_are_recovered(name, truth, inside, request):
    fit = fit_responses(request.getfixturevalue(name), DelaySpec())
    assert inside(fit.clicks.rate, truth.click_rate)
    assert inside(fit.clicks.log_sd, truth.click_log_sd)
    assert inside(fit.conversions.rate, truth.conversion_rate)
    assert inside(fit.daypart_amplitude, truth.daypart)
    assert inside(fit.delay.mean_hours, truth.delay_hours)
    assert inside(fit.delay.immediate_share, truth.immediate)


def test_conversions_still_to_come_do_not_lower_the_rate(simulate, inside):
    log = simulate(2, days=2, click_rate=0.1, delay_hours=30.0, immediate=0.1)
    fit = fit_responses(log, DelaySpec())
    assert inside(fit.conversions.rate, 0.1)
    plain = log.conversion.sum() / log.click.sum()
    assert plain < 0.06
    assert fit.conversions.rate.interval_low > plain


def test_a_log_without_clicks_keeps_every_default(won_log):
    fit = fit_responses(replace(won_log, click=None, conversion=None, delay_hours=None), DelaySpec())
    for part in (fit.clicks, fit.conversions, fit.daypart_amplitude, fit.delay.mean_hours):
        assert isinstance(part, TooLittle)
        assert "the log has no" in part.reason


def test_clicks_without_conversions_still_give_a_click_rate(won_log, truth, inside):
    fit = fit_responses(replace(won_log, conversion=None, delay_hours=None), DelaySpec())
    assert inside(fit.clicks.rate, truth.click_rate)
    assert fit.conversions == TooLittle(observations=0, reason="the log has no column conversion")


def test_rates_follow_impressions_and_not_auctions(contested_log, truth, inside):
    fit = fit_click_rates(contested_log)
    assert inside(fit.rate, truth.click_rate)
    assert contested_log.click.sum() / contested_log.rows < 0.7 * np.average(fit.segment_rate)
