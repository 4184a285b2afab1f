"""Curves fitted on four weeks predict the two that follow nearly as well as the truth does."""

from dataclasses import replace

import numpy as np
import pytest

from gaelp.market.calibration.report_curves import fit_report_curves
from gaelp.market.calibration.report_forecast import day_errors, forecast, poisson_error_share
from gaelp.market.calibration.report_frame import keep_days, without_shares
from gaelp.market.spec import DelaySpec

DELAY = DelaySpec(mean_hours=20.0, immediate_share=0.3, window_hours=720)


@pytest.fixture(scope="module")
def curves(first_weeks):
    return fit_report_curves(first_weeks, DELAY)


@pytest.fixture(scope="module")
def later(all_reports):
    return keep_days(all_reports, 28, 42)


def test_held_out_clicks_and_spend_are_predicted_nearly_as_well_as_by_the_truth(
    known_reports, all_reports, curves, later
):
    found = {error.figure: error for error in day_errors(forecast(curves, later), later, np.random.default_rng(1))}
    hours = slice(28 * 24, None)
    for figure, truth, seen in zip(
        ("clicks", "spend"),
        known_reports.expected(all_reports.bid_micros),
        (later.clicks, later.spend_micros),
        strict=True,
    ):
        by_truth = np.abs(later.by_day(truth[:, hours]) - later.by_day(seen)).sum() / seen.sum()
        assert found[figure].error_share < 1.2 * by_truth
    assert found["conversions"].ratio < 1.2


def test_a_missing_share_costs_the_forecast_nothing(first_weeks, curves, later):
    blind = forecast(fit_report_curves(without_shares(first_weeks), DELAY), later)
    assert blind.clicks.sum() == pytest.approx(forecast(curves, later).clicks.sum(), rel=0.03)


def test_a_higher_bid_is_expected_to_buy_more_and_dearer_clicks(curves, later):
    dearer = replace(later, bid_micros=later.bid_micros * 1.5)
    low, high = forecast(curves, later), forecast(curves, dearer)
    assert high.clicks.sum() > 1.1 * low.clicks.sum()
    assert high.spend_micros.sum() / high.clicks.sum() > low.spend_micros.sum() / low.clicks.sum()


def test_a_budget_caps_what_is_expected_of_a_day(curves, later):
    budget = 1_000_000.0
    capped = replace(later, day_budget_micros=np.full_like(later.day_budget_micros, budget))
    spend = np.zeros(capped.day_budget_micros.shape)
    np.add.at(spend, curves.campaign, later.by_day(forecast(curves, capped).spend_micros))
    assert spend.max() <= budget * 1.6  # busy weekdays are allowed more
    assert spend.mean() == pytest.approx(budget, rel=0.05)


def test_chance_alone_is_the_mean_deviation_of_poisson_counts():
    rng = np.random.default_rng(2)
    mean = rng.uniform(0.2, 6.0, 400)
    drawn = np.abs(rng.poisson(mean, (4000, 400)) - mean).mean(axis=0).sum() / mean.sum()
    assert poisson_error_share(mean) == pytest.approx(drawn, rel=0.01)
