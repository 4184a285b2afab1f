"""Estimates of logged segments: near the truth, and draws that spread as their errors say."""

from dataclasses import replace

import numpy as np
import pytest

from gaelp.bench.known_reports import ReportTruth, draw_reports
from gaelp.errors import DataError
from gaelp.market.build import load_market_spec
from gaelp.market.calibration.report_fit import calibrate_reports, fit_reports
from gaelp.market.calibration.report_frame import hour_reports
from gaelp.market.calibration.segment_estimates import estimate_segments


@pytest.fixture(scope="module")
def known():
    return draw_reports(ReportTruth(campaigns=5, groups=3, days=21, per_hour=20.0), 5)


@pytest.fixture(scope="module")
def reports(known):
    return hour_reports(known.tables, source="known")


@pytest.fixture(scope="module")
def fitted(reports):
    base = load_market_spec("search")
    fit = fit_reports(reports, base)
    return fit, calibrate_reports(reports, name="known", base=base, fit=fit).spec


@pytest.fixture(scope="module")
def estimates(reports, fitted):
    return estimate_segments(reports, *fitted)


def test_calibration_from_a_given_fit_is_the_same(reports, fitted):
    base = load_market_spec("search")
    assert calibrate_reports(reports, name="known", base=base).spec == fitted[1]


def test_volumes_and_click_rates_are_within_their_errors(known, estimates):
    for value, error, truth in (
        (estimates.per_hour, estimates.per_hour_error, known.per_hour),
        (estimates.click_rate, estimates.click_error, known.click_rate),
    ):
        away = np.abs(np.log(value.ravel() / truth)) / error.ravel()
        assert np.mean(away < 2.5) > 0.9


def test_second_price_platform_needs_no_other_bids_than_its_own(known, estimates):
    """This generator charges the highest rival price, as the market does: a bid is worth bid x click rate."""
    ratio = estimates.bid_scale / estimates.click_rate
    assert np.median(ratio) == pytest.approx(1.0, abs=0.15)


def test_level_is_the_price_of_an_impression(known, estimates):
    paid = np.exp(estimates.level_log).ravel()
    price = np.exp(known.level_log.mean(axis=1) + known.within_log_sd**2 / 2) * known.click_rate
    assert np.median(paid / price) == pytest.approx(1.0, abs=0.2)


def test_draws_spread_as_errors_say_and_leave_what_is_known(estimates):
    rng = np.random.default_rng(0)
    draws = [estimates.draw(rng) for _ in range(300)]
    for name, error in (("per_hour", "per_hour_error"), ("click_rate", "click_error")):
        spread = np.log([getattr(draw, name) for draw in draws]).std(axis=0)
        np.testing.assert_allclose(spread, getattr(estimates, error), rtol=0.25)
    assert all((draw.usual_bid_micros == estimates.usual_bid_micros).all() for draw in draws)
    assert all((draw.week == estimates.week).all() for draw in draws)


def test_draws_have_the_estimate_as_their_mean(estimates):
    rng = np.random.default_rng(1)
    wide = replace(estimates, conversion_error=np.full_like(estimates.conversion_error, 0.4))
    mean = np.mean([wide.draw(rng).conversion_rate.sum() for _ in range(400)])
    assert mean == pytest.approx(wide.conversion_rate.sum(), rel=0.02)


def test_same_generator_gives_the_same_draw(estimates):
    first, second = (estimates.draw(np.random.default_rng(7)) for _ in range(2))
    assert (first.bid_scale == second.bid_scale).all()
    assert (first.conversion_value_micros == second.conversion_value_micros).all()


def test_campaigns_without_budget_have_none(estimates):
    assert np.isinf(estimates.daily_budget_micros).all()
    assert (estimates.delivery, estimates.overdelivery) == (1.0, 1.0)


def test_reports_without_a_conversion_are_refused(reports, fitted):
    fit, spec = fitted
    nothing = replace(fit, curves=replace(fit.curves, conversion=None))
    with pytest.raises(DataError, match="no conversions"):
        estimate_segments(reports, nothing, spec)
