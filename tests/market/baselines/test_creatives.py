from dataclasses import replace

import numpy as np

from gaelp.market.baselines.constant import Constant, ConstantParameters
from gaelp.market.baselines.creatives import WithCreatives, best_creatives
from gaelp.market.market import seeds_from


def test_the_creative_with_more_clicks_is_served(make_market):
    market = make_market(days=1, segments=2, creatives={"count": 3})
    obs = market.reset(seeds_from(1, 1))
    observed = replace(
        obs,
        creative_impressions=np.full((1, 2, 3), 5000, dtype=np.int32),
        creative_clicks=np.array([[[50, 100, 40], [90, 40, 60]]], dtype=np.int32),
    )
    assert best_creatives(market.brief, observed).tolist() == [[1, 0]]


def test_a_creative_that_was_hardly_shown_gets_another_chance(make_market):
    market = make_market(days=1, segments=1, creatives={"count": 2})
    obs = market.reset(seeds_from(1, 1))
    shown = np.array([[[20_000, 50]]], dtype=np.int32)
    observed = replace(obs, creative_impressions=shown, creative_clicks=np.array([[[200, 0]]], dtype=np.int32))
    assert best_creatives(market.brief, observed).tolist() == [[1]]


def test_choosing_creatives_wins_more_than_always_serving_the_first(make_market):
    market = make_market(days=3, volume={"per_hour": 400}, creatives={"count": 3, "affinity_strength": 2.0})

    def reward(bidder):
        obs = market.reset(seeds_from(4, 100))
        bidder.begin(market.brief)
        total = 0.0
        while not market.done:
            obs, outcome = market.step(bidder.act(obs))
            total += outcome.reward.mean()
        return total

    bidder = Constant(ConstantParameters())
    assert reward(WithCreatives(bidder)) > 1.05 * reward(bidder)


def test_one_creative_leaves_the_action_as_it_is(small_market):
    bidder = WithCreatives(Constant(ConstantParameters()))
    bidder.begin(small_market.brief)
    assert bidder.name == "constant"
    assert bidder.act(small_market.observe()).creative is None
