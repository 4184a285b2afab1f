"""Clicks and their prices follow the bid as the reports show it, and draws differ as far as the reports leave open."""

import numpy as np
import pytest

from gaelp.history.bid_response import draw_response
from gaelp.history.posterior_lift import TwinWindow, lift_between, lifts_by_group, play_in_twins
from gaelp.history.scheduled_bids import ScheduledBids
from gaelp.history.twin_market import posterior_draws


@pytest.fixture(scope="module")
def response(account):
    drawn = posterior_draws(account.estimates, 30, np.random.default_rng(1))
    return draw_response(account.curves, account.estimates, drawn, np.random.default_rng(2))


def test_a_lower_bid_pays_less_for_a_click_by_the_slope_of_the_curve(response, account):
    usual = np.broadcast_to(account.estimates.usual_bid_micros, response.click_rate.shape)
    clicks = np.full(usual.shape, 100.0)
    cheaper = response.spend_micros(0.8 * usual, clicks) / response.clicks_factor(0.8 * usual)
    ratio = np.log(cheaper / response.spend_micros(usual, clicks)).mean(axis=0)
    curve = account.curves.price.coefficient[account.estimates.row]
    expected = curve[..., 1] * np.log(0.8) + curve[..., 2] * np.log(0.8) ** 2
    assert np.allclose(ratio, expected, atol=0.05)
    assert np.allclose(response.clicks_factor(usual), 1.0, atol=0.2)


def test_draws_differ_as_far_as_slopes_are_unknown_and_far_bids_are_not_followed(response, account):
    usual = account.estimates.usual_bid_micros
    assert response.price[..., 1].std(axis=0) == pytest.approx(
        np.sqrt(account.curves.price.covariance[account.estimates.row, 1, 1]), rel=0.6
    )
    far, farther = (
        response.clicks_factor(np.broadcast_to(factor * usual, response.click_rate.shape)) for factor in (3.0, 9.0)
    )
    assert (far == farther).all()


def test_groups_are_campaigns_and_segments_and_an_equal_policy_harms_none(account, personas):
    estimates = account.estimates
    window = TwinWindow(account.spec, personas, estimates, days=1, start_hour_of_week=0, curves=account.curves)
    bids = np.broadcast_to(estimates.usual_bid_micros, (24, *estimates.row.shape))
    usual, lower = (
        play_in_twins(ScheduledBids(f"x{factor}", factor * bids, estimates), window, draws=20, seed=4)
        for factor in (1.0, 0.7)
    )
    groups = lifts_by_group(usual, usual, estimates)
    assert {group.kind for group in groups} == {"campaign", "segment"}
    assert {(group.lift, group.lower, group.upper) for group in groups} == {(0, 0, 0)}
    wide, narrow = (lift_between(lower, usual, confidence) for confidence in (0.99, 0.8))
    assert wide.lift_lower < narrow.lift_lower < narrow.lift < narrow.lift_upper < wide.lift_upper
    assert usual.value_per_dollar != usual.own_value_per_dollar  # the market's own prices are another matter
