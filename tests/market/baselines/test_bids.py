import numpy as np
import pytest

from gaelp.market.baselines.bids import LaunchParameters, bids_for_worth, launch_bid_log, launch_price_log, whole_micros
from gaelp.market.market import seeds_from


def test_the_launch_bid_grows_with_price_and_budget_share(small_market):
    brief = small_market.brief
    bid = np.exp(launch_bid_log(brief, LaunchParameters(bid_log=0.3, share_exponent=0.5)))
    price = np.exp(brief.price_forecast_log.mean(axis=1))
    np.testing.assert_allclose(bid, price * np.exp(0.3) * np.sqrt(brief.budget_share), rtol=1e-5)


def test_at_the_launch_price_an_average_impression_is_worth_the_launch_bid(small_market):
    brief, given = small_market.brief, LaunchParameters()
    value_log = np.log(brief.click_rate * brief.conversion_rate * brief.conversion_value_micros)
    np.testing.assert_allclose(value_log - launch_price_log(brief, given), launch_bid_log(brief, given))


def test_with_second_prices_the_bid_is_the_worth(small_market):
    worth_log = np.log(np.array([[1000.0, 2000.0]] * 3))
    bids = bids_for_worth(small_market.brief, small_market.observe(), worth_log, shade_offset=0.3)
    assert bids.tolist() == [[1000, 2000]] * 3
    assert bids.dtype == np.int64


@pytest.mark.parametrize("offset", [-0.2, 0.0, 0.2])
def test_with_first_prices_the_bid_is_shaded_and_never_above_the_worth(make_market, offset):
    market = make_market(days=1, price={"payment": "first"})
    obs = market.reset(seeds_from(1, 50))
    worth_log = (obs.price_level_log + np.linspace(-6, 3, 8)).astype(np.float64)
    bids = bids_for_worth(market.brief, obs, worth_log, offset)
    assert (bids <= np.rint(np.exp(worth_log))).all()
    shaded = bids[:, 5:] / np.exp(worth_log[:, 5:])
    assert (shaded < 0.9).all()
    plain = bids_for_worth(market.brief, obs, worth_log, 0.0)
    np.testing.assert_allclose(bids[:, 6] / plain[:, 6], np.exp(offset), rtol=1e-2)


def test_no_bid_is_larger_than_a_market_takes():
    assert whole_micros(np.array([0.0, 800.0])).tolist() == [1, 10**12]
