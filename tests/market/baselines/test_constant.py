from dataclasses import replace

import numpy as np

from gaelp.market.baselines.bids import LaunchParameters
from gaelp.market.baselines.constant import Constant, ConstantParameters, Random, RandomParameters
from gaelp.market.market import seeds_from


def test_a_constant_bid_is_the_same_for_all_segments_and_hours(small_market):
    bidder = Constant(ConstantParameters())
    bidder.begin(small_market.brief)
    first = bidder.act(small_market.observe()).bid_micros
    obs, _ = small_market.step(bidder.act(small_market.observe()))
    assert (first == first[:, :1]).all()
    np.testing.assert_array_equal(bidder.act(obs).bid_micros, first)


def test_random_bids_scatter_log_uniformly_around_the_constant_one(make_market):
    market = make_market(days=1)
    obs = market.reset(seeds_from(1, 500))
    launch = LaunchParameters(bid_log=1.0, share_exponent=0.2)
    constant, bidder = (
        Constant(ConstantParameters(launch=launch)),
        Random(RandomParameters(launch=launch, log_width=0.8)),
    )
    constant.begin(market.brief)
    bidder.begin(market.brief)
    distance = np.log(bidder.act(obs).bid_micros / constant.act(obs).bid_micros)
    assert np.abs(distance).max() < 0.81
    assert abs(distance.mean()) < 0.03
    assert abs(distance.std() - 0.8 / np.sqrt(3)) < 0.02


def test_random_bids_differ_by_hour_and_come_again_with_the_seed(small_market):
    def two_hours(seed):
        bidder = Random(RandomParameters(), seed)
        bidder.begin(small_market.brief)
        hours = (replace(small_market.observe(), hour=np.full(3, hour)) for hour in (0, 1))
        return [bidder.act(obs).bid_micros.tolist() for obs in hours]

    assert two_hours(1) == two_hours(1)
    assert two_hours(1) != two_hours(2)
    assert two_hours(1)[0] != two_hours(1)[1]
