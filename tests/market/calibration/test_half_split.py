from dataclasses import replace

import numpy as np
import pytest

from gaelp.errors import DataError
from gaelp.market.calibration import half_split_report, split_half

KL_LIMIT = 0.05


def test_halves_hold_whole_hours_and_every_row_once(won_log):
    first, second = split_half(won_log, np.random.default_rng(1))
    assert first.rows + second.rows == won_log.rows
    assert not set(first.covered_hours) & set(second.covered_hours)
    assert len(first.covered_hours) == len(won_log.covered_hours) // 2
    again, _ = split_half(won_log, np.random.default_rng(1))
    other, _ = split_half(won_log, np.random.default_rng(2))
    assert again.covered_hours.tolist() == first.covered_hours.tolist() != other.covered_hours.tolist()
    assert first.covered_hours.max() > second.covered_hours.min()  # spread over the whole log


def test_a_log_of_one_hour_cannot_be_split(won_log):
    hour = replace(won_log, covered_hours=won_log.covered_hours[:1], covered_share=won_log.covered_share[:1])
    with pytest.raises(DataError, match="covers 1 hour"):
        split_half(hour, np.random.default_rng(1))


@pytest.mark.parametrize("name", ["won_log", "contested_log"])
def test_a_fit_on_one_half_describes_the_other(name, request):
    report = half_split_report(request.getfixturevalue(name), np.random.default_rng(2))
    assert report.price.ks < 0.04
    assert report.price.kl < KL_LIMIT
    assert report.volume.absolute_error_share < 0.2 < report.volume.flat_error_share
    assert report.volume.mean_absolute_percentage_error < 0.2
    assert abs(report.clicks.standard_errors) < 3.5
    assert abs(report.clicks.relative_error) < 0.15
    assert report.missing == {}
    assert report.price_judgement.fits
    assert report.price_judgement.kl_limit < KL_LIMIT + 0.01


def test_a_market_that_changes_between_the_halves_is_seen(won_log):
    steady = half_split_report(won_log, np.random.default_rng(3))
    first, _ = split_half(won_log, np.random.default_rng(3))
    changed = np.isin(np.floor(won_log.time_hours), first.covered_hours)
    dearer = replace(won_log, price_micros=np.where(changed, won_log.price_micros, 2 * won_log.price_micros))
    shifted = half_split_report(dearer, np.random.default_rng(3))
    assert shifted.price.ks > 0.2 > steady.price.ks
    assert shifted.price.kl > 0.2
    assert not shifted.price_judgement.fits


def test_what_cannot_be_compared_says_why(won_log):
    report = half_split_report(replace(won_log, click=None), np.random.default_rng(4))
    assert report.clicks is None
    assert report.missing == {"clicks": "the log has no column click"}


@pytest.mark.parametrize("segments", [1, 10])
def test_halves_of_one_distribution_fit_however_small_the_log_and_whatever_the_seed(flat_log, segments):
    log = flat_log(6, rows=900, segments=segments)
    reports = [half_split_report(log, np.random.default_rng(seed)) for seed in range(4)]
    assert all(report.price_judgement.fits for report in reports)
    assert min(report.price.kl for report in reports) > KL_LIMIT  # the bar of a large log would refuse them all


def test_a_held_out_half_with_few_prices_is_not_compared(contested_log):
    hours = np.arange(len(contested_log.covered_hours))
    first, _ = split_half(contested_log, np.random.default_rng(5))
    fitted_hours = np.isin(contested_log.covered_hours[contested_log.hour], first.covered_hours)
    unseen = replace(contested_log, price_micros=np.where(fitted_hours, contested_log.price_micros, -1))
    report = half_split_report(unseen, np.random.default_rng(5))
    assert len(hours) == report.volume.hours + len(first.covered_hours)
    assert (report.price, report.price_judgement) == (None, None)
    assert "0 prices seen in the held-out half, 200 needed" in report.missing["price"]
