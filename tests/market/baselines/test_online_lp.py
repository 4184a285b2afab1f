from dataclasses import replace

import numpy as np

from gaelp.market.baselines.online_lp import OnlineLp, OnlineLpParameters
from gaelp.market.baselines.values import SignalWeights


def bids(market, obs, **given):
    bidder = OnlineLp(OnlineLpParameters(**given))
    bidder.begin(market.brief)
    return bidder.act(obs).bid_micros


def test_the_dual_price_steps_by_the_error_of_the_last_hour(small_market):
    obs = small_market.observe()
    nothing = replace(obs, hour=np.full(3, 1), cost_micros=np.zeros((3, 2), dtype=np.int64))
    still = bids(small_market, nothing, step=0.2, decay=0.0, correction=0.0)
    eager = bids(small_market, nothing, step=0.5, decay=0.0, correction=0.0)
    np.testing.assert_allclose(eager / still, np.exp(0.3), rtol=1e-2)  # no spend at all is an error of -1


def test_later_steps_are_smaller(small_market):
    obs = small_market.observe()
    nothing = replace(obs, hour=np.full(3, 16), cost_micros=np.zeros((3, 2), dtype=np.int64))
    full = bids(small_market, nothing, step=0.4, decay=0.0, correction=0.0)
    small = bids(small_market, nothing, step=0.4, decay=0.5, correction=0.0)
    np.testing.assert_allclose(full / small, np.exp(0.4 - 0.1), rtol=1e-2)


def test_money_left_over_raises_the_bids_and_a_binding_cap_lowers_them(small_market):
    brief = small_market.brief
    obs = replace(small_market.observe(), hour=np.full(3, 12), day_left_micros=brief.daily_cap_micros // 2)
    on_plan = bids(small_market, replace(obs, left_micros=brief.budget_micros * 3 // 4), correction=1.0)
    poor = bids(small_market, replace(obs, left_micros=brief.budget_micros // 4), correction=1.0)
    capped = bids(small_market, replace(obs, day_left_micros=brief.daily_cap_micros // 10), correction=1.0)
    assert (poor < on_plan).all()
    assert (capped < on_plan).all()


def test_the_informed_rule_says_so_and_without_weights_bids_like_the_other(small_market):
    informed = OnlineLp(OnlineLpParameters(), SignalWeights())
    informed.begin(small_market.brief)
    obs = small_market.observe()
    assert informed.name == "online-lp (informed)"
    np.testing.assert_array_equal(informed.act(obs).bid_micros, bids(small_market, obs))
