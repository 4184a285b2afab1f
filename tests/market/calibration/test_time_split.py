from dataclasses import replace

import numpy as np
import pytest

from gaelp.errors import DataError
from gaelp.market.calibration import check_report, time_split_report
from gaelp.market.calibration.log_frame import keep_hours


def test_a_steady_log_fits(won_log, base):
    report = check_report(won_log, base, np.random.default_rng(1))
    assert report.verdict == "fits"
    assert report.time_split.price_judgement.ks_by_drift > 0
    assert not any(change.changed for change in report.time_split.changes)


def test_a_log_whose_prices_change_after_some_days_drifts_although_random_halves_agree(won_log, base):
    rng = np.random.default_rng(2)
    later = won_log.time_hours >= won_log.covered_hours[96]
    dearer = np.where(later, (won_log.price_micros * rng.lognormal(0.25, 0.8, won_log.rows)).astype(np.int64), 0)
    log = replace(won_log, price_micros=np.where(later, dearer, won_log.price_micros))
    report = check_report(log, base, np.random.default_rng(3))
    assert report.price_judgement.fits
    assert report.verdict == "drifts"
    assert report.time_split.cut_at.endswith("00:00")
    assert report.time_split.price.ks > report.time_split.price_judgement.ks_limit


def test_a_statistic_that_changes_is_named_with_an_interval_of_its_change(won_log, base):
    rng = np.random.default_rng(4)
    gone = (won_log.time_hours >= won_log.covered_hours[96]) & (rng.random(won_log.rows) < 0.95)
    log = replace(
        won_log,
        click=won_log.click & ~gone,
        conversion=won_log.conversion & ~gone,
        delay_hours=np.where(gone, np.nan, won_log.delay_hours),
    )
    report = check_report(log, base, np.random.default_rng(5))
    assert report.verdict == "drifts"
    assert report.time_split.price_judgement.fits
    first = report.time_split.changes[0]
    assert (first.statistic, first.changed) == ("response.click_rate", True)
    assert first.interval_low < first.change < first.interval_high < 0


def test_halves_that_differ_do_not_fit_whatever_time_says(won_log, base):
    hours = len(won_log.covered_hours)
    wild = np.zeros(hours, bool)
    wild[np.random.default_rng(7).permutation(hours)[: hours // 2]] = True
    log = replace(won_log, price_micros=np.where(wild[won_log.hour], 3 * won_log.price_micros, won_log.price_micros))
    assert check_report(log, base, np.random.default_rng(7)).verdict == "does not fit"


def test_a_log_without_prices_is_not_judged(contested_log, base):
    log = replace(contested_log, won=np.zeros(contested_log.rows, bool), price_micros=np.full(contested_log.rows, -1))
    log = replace(log, click=None, conversion=None, delay_hours=None)
    report = check_report(log, base, np.random.default_rng(8))
    assert report.verdict == "too few prices"
    assert "price" in report.time_split.missing


def test_a_short_log_is_cut_in_its_middle_and_one_hour_is_refused(won_log, base):
    short = keep_hours(won_log, np.arange(len(won_log.covered_hours)) < 6)
    report = time_split_report(short, base, np.random.default_rng(9))
    assert report.cut_at.endswith("03:00")
    with pytest.raises(DataError, match="covers 1 hour"):
        time_split_report(
            keep_hours(won_log, np.arange(len(won_log.covered_hours)) < 1), base, np.random.default_rng(9)
        )
