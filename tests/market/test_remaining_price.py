"""The price of what is left of a budget follows how much is left, and at launch it is that of the optimum."""

import numpy as np
import pytest

from gaelp.market.market import seeds_from
from gaelp.market.remaining_price import RemainingPrices


@pytest.fixture
def market(make_market):
    market = make_market()
    market.reset(seeds_from(3, 12))
    return market


def prices(market, hour, share=1.0, day_share=1.0):
    world = market.world
    left = (share * world.budget_micros).astype(np.int64)
    today = np.minimum((day_share * world.daily_cap_micros).astype(np.int64), left)
    return np.exp(RemainingPrices(world, market.landscapes)(hour, left, today))


def test_at_launch_it_is_the_price_of_the_optimum(market):
    loose = market.world.daily_cap_micros * 3 > market.world.budget_micros * 1.2
    optimum = np.exp(market.world.budget_price_log.min(axis=1))
    assert np.allclose(prices(market, 0)[loose], optimum[loose], rtol=0.1)


def test_the_less_is_left_the_dearer_it_is(market):
    plenty, some, little = (prices(market, 36, share) for share in (0.9, 0.4, 0.1))
    assert (plenty < some).all()
    assert (some < little).all()


def test_a_day_that_is_nearly_spent_is_dear_even_if_the_flight_is_not(market):
    assert (prices(market, 10, day_share=0.02) > 1.1 * prices(market, 10)).all()


def test_it_stays_finite_to_the_last_hour_whatever_is_left(market):
    for hour in range(market.hours):
        for share in (0.0, 1e-6, 1.0):
            price_now = prices(market, hour, share)
            assert np.isfinite(price_now).all()
            assert (price_now > 0).all()
