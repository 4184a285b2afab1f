import numpy as np
import pytest

from gaelp.market.calibration.fitted import TooLittle
from gaelp.market.calibration.log_frame import keep_hours
from gaelp.market.calibration.seasonality import HourFactors
from gaelp.market.calibration.volume import fit_volume, hour_counts


def test_counts_by_segment_and_hour_hold_every_auction(won_log):
    counts = hour_counts(won_log)
    assert counts.shape == (won_log.segments, len(won_log.covered_hours))
    assert counts.sum() == won_log.rows
    assert counts[3, 50] == ((won_log.segment == 3) & (won_log.hour == 50)).sum()


def test_volume_and_its_spread_are_recovered(won_log, truth, inside):
    fit = fit_volume(won_log)
    assert inside(fit.per_hour, truth.per_hour)
    assert inside(fit.segment_log_sd, truth.volume_log_sd)
    assert inside(fit.overdispersion, truth.overdispersion)
    assert fit.overdispersion.interval_high / fit.overdispersion.interval_low < 1.4
    assert fit.overdispersion.goodness < 0.04
    assert isinstance(fit.factors, HourFactors)


@pytest.mark.parametrize("overdispersion", [0.02, 0.6])
def test_calm_and_wild_hours_are_told_apart(simulate, inside, overdispersion):
    fit = fit_volume(simulate(2, overdispersion=overdispersion, per_hour=30.0))
    assert inside(fit.overdispersion, overdispersion)


def test_half_of_the_hours_tell_the_same_volume(won_log, truth, inside):
    kept = np.random.default_rng(3).random(len(won_log.covered_hours)) < 0.5
    fit = fit_volume(keep_hours(won_log, kept))
    assert inside(fit.per_hour, truth.per_hour)
    assert inside(fit.overdispersion, truth.overdispersion)


def test_few_segments_have_a_mean_and_no_spread(simulate, inside):
    fit = fit_volume(simulate(4, segments=2, volume_log_sd=0.0))
    assert inside(fit.per_hour, 60)
    assert isinstance(fit.segment_log_sd, TooLittle)


def test_a_log_of_hours_says_nothing_about_volume(won_log):
    kept = np.zeros(len(won_log.covered_hours), bool)
    kept[:10] = True
    fit = fit_volume(keep_hours(won_log, kept))
    assert isinstance(fit.per_hour, TooLittle)
    assert isinstance(fit.factors, TooLittle)
    assert "10 hours covered" in fit.per_hour.reason
