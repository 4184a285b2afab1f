from dataclasses import replace

import numpy as np
import pytest

from gaelp.market.calibration.fitted import TooLittle
from gaelp.market.calibration.knots import share_at_or_below
from gaelp.market.calibration.landscapes import POOLED, LandscapeFit, fit_landscapes, pays_its_bid
from gaelp.market.calibration.price_signals import fit_segment_prices


def fitted(log):
    return fit_landscapes(log, fit_segment_prices(log).level)


def true_median(log, full, index):
    """Median price of a segment when nothing is hidden."""
    return float(np.median(full.price_micros[full.segment == index]))


def test_each_segment_with_enough_prices_has_its_own_landscape(won_log):
    landscapes = fitted(won_log)
    assert isinstance(landscapes, LandscapeFit)
    assert {spec.name for spec in landscapes.specs} == set(won_log.segment_names)
    assert all(report.unknown_share == 0 for report in landscapes.reports)


def test_lost_bids_do_not_move_the_median(won_log, contested_log):
    assert contested_log.won.mean() < 0.66
    landscapes = fitted(contested_log)
    for spec, report in zip(landscapes.specs, landscapes.reports, strict=True):
        index = won_log.segment_names.index(spec.name)
        median = true_median(contested_log, won_log, index)
        share = share_at_or_below(spec, np.array([median]) / report.mean_price_micros.value)[0]
        assert share == pytest.approx(0.5, abs=0.04)


def test_what_no_bid_reached_is_reported_as_unknown(contested_log):
    landscapes = fitted(contested_log)
    assert max(report.unknown_share for report in landscapes.reports) > 0.01
    for spec, report in zip(landscapes.specs, landscapes.reports, strict=True):
        assert spec.knots[-1][1] == pytest.approx(1 - report.unknown_share)
        assert report.known_up_to_micros <= contested_log.bid_micros.max()


def test_small_segments_share_one_landscape(simulate):
    log = simulate(3, segments=6, days=3, per_hour=60.0, volume_log_sd=2.0)
    sizes = np.bincount(log.segment)
    assert (sizes < 1000).any()
    assert (sizes >= 1000).any()
    names = {spec.name for spec in fitted(log).specs}
    assert names == {name for name, size in zip(log.segment_names, sizes, strict=True) if size >= 1000} | {POOLED}


def test_landscapes_of_a_log_with_only_small_segments_are_pooled(simulate):
    landscapes = fitted(simulate(4, segments=8, days=1, per_hour=10.0))
    assert [spec.name for spec in landscapes.specs] == ["all-segments"]
    assert landscapes.pooled.mean_price == pytest.approx(np.exp(0.8**2 / 2), rel=0.1)


def test_few_prices_are_too_little(simulate):
    landscapes = fitted(simulate(5, segments=2, days=1, per_hour=2.0))
    assert isinstance(landscapes, TooLittle)
    assert "200 needed" in landscapes.reason


def test_paid_bids_of_a_first_price_log_are_not_taken_for_rival_prices(contested_log):
    paid = np.where(contested_log.won, contested_log.bid_micros, -1)
    log = replace(contested_log, price_micros=paid)
    assert pays_its_bid(log)
    assert not pays_its_bid(contested_log)
    landscapes = fitted(log)
    assert isinstance(landscapes, TooLittle)
    assert "first-price" in landscapes.reason
