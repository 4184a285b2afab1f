"""A small market and a log to replay."""

import numpy as np
import pytest

from gaelp.market.auction_log import AuctionLog
from gaelp.market.market import seeds_from
from gaelp.market.price_history import PriceHistory
from gaelp.market.replay import AuctionReplay


@pytest.fixture
def small_market(make_market):
    """Three campaigns with two segments, two days, second prices, already reset."""
    market = make_market(days=2, segments=2, delay={"mean_hours": 2})
    market.reset(seeds_from(1, 3))
    return market


@pytest.fixture(scope="session")
def replay():
    """Drawn auctions, cut into four episodes of 50."""
    rng = np.random.default_rng(0)
    units = np.minimum(rng.gamma(2.0, 40.0, 200), 299).astype(np.int64) + 1
    clicked = (rng.random(200) < 0.05).astype(np.int8)
    log = AuctionLog(units * 10, clicked, rng.beta(1, 30, 200), None, 10)
    history = PriceHistory(np.bincount(units), clicks=10, micros_per_unit=10)
    return AuctionReplay(log, history, episode_auctions=50, budget_micros=9_000, click_value_micros=50_000)
