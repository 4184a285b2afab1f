import numpy as np
import pytest

from gaelp.market.calibration.fitted import Fitted, TooLittle
from gaelp.market.calibration.log_frame import keep_hours
from gaelp.market.calibration.price_moves import fit_price_moves
from gaelp.market.calibration.price_signals import fit_segment_prices
from gaelp.market.spec import RivalSpec

NO_PAUSE = RivalSpec(depth=0.0)


@pytest.mark.parametrize("name", ["won_log", "contested_log"])
def test_drift_noise_and_daily_wave_are_recovered(name, truth, inside, request):
    log = request.getfixturevalue(name)
    moves = fit_price_moves(log.covered_hours, fit_segment_prices(log), NO_PAUSE)
    assert inside(moves.common_drift_sd, truth.common_drift_sd)
    assert inside(moves.segment_drift_sd, truth.segment_drift_sd)
    assert inside(moves.drift_persistence, truth.persistence)
    assert inside(moves.hourly_noise_sd, truth.noise_sd)
    assert inside(moves.diurnal_amplitude, truth.diurnal)
    assert moves.peak_hour == pytest.approx(13, abs=1.5)
    innovation = truth.common_drift_sd * np.sqrt(1 - truth.persistence**2)
    assert inside(moves.innovation_sd, innovation)


def test_a_calm_market_shows_no_drift(simulate):
    calm = {"common_drift_sd": 0.0, "segment_drift_sd": 0.0, "noise_sd": 0.0, "diurnal": 0.0}
    log = simulate(5, segments=6, days=5, **calm)
    moves = fit_price_moves(log.covered_hours, fit_segment_prices(log), NO_PAUSE)
    assert moves.common_drift_sd.interval_low == 0
    assert moves.common_drift_sd.value < 0.03
    assert moves.segment_drift_sd.value < 0.03
    assert moves.diurnal_amplitude.interval_low == 0


def test_the_pause_of_rivals_is_not_counted_twice(simulate):
    log = simulate(6, segments=4, days=10, diurnal=0.0, common_drift_sd=0.02, within_log_sd=0.3)
    prices = fit_segment_prices(log)
    hour = log.covered_hours % 24
    pause = -0.8 / (1 + np.exp(20.0 - hour))
    prices.hourly_level[:] += pause
    informed = fit_price_moves(log.covered_hours, prices, RivalSpec(depth=0.8, around_hour=20.0))
    uninformed = fit_price_moves(log.covered_hours, prices, NO_PAUSE)
    assert informed.diurnal_amplitude.value < 0.05 < 0.2 < uninformed.diurnal_amplitude.value


def test_one_segment_has_only_common_drift(simulate):
    log = simulate(7, segments=1, days=5, per_hour=200.0)
    moves = fit_price_moves(log.covered_hours, fit_segment_prices(log), NO_PAUSE)
    assert isinstance(moves.segment_drift_sd, TooLittle)
    assert isinstance(moves.common_drift_sd, Fitted)


def test_a_log_of_a_day_says_nothing_about_drift(won_log):
    kept = np.arange(len(won_log.covered_hours)) < 24
    log = keep_hours(won_log, kept)
    moves = fit_price_moves(log.covered_hours, fit_segment_prices(log), NO_PAUSE)
    assert isinstance(moves.common_drift_sd, TooLittle)
    assert moves.peak_hour is None
    assert "24 hours with prices seen, 48 needed" in moves.diurnal_amplitude.reason
