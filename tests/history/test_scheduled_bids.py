"""Bids that were fixed beforehand are played hour by hour in every copy."""

import numpy as np
import pytest

from gaelp.errors import DataError
from gaelp.history.scheduled_bids import ScheduledBids
from gaelp.history.twin_market import TwinMarket, posterior_draws


@pytest.fixture
def twin(account, personas):
    draws = posterior_draws(account.estimates, 2, np.random.default_rng(1))
    return TwinMarket(account.spec, personas, account.estimates, draws, days=1, start_hour_of_week=0, seed=3)


def test_each_hour_has_its_bids_in_every_copy_and_none_after_the_last(twin, account):
    estimates = account.estimates
    bids = estimates.usual_bid_micros * np.array([1.0, 2.0])[:, None, None]
    policy = ScheduledBids("log", bids, estimates)
    policy.begin(twin.brief)
    observation = twin.observe()
    for hour in range(3):
        action = policy.act(observation)
        expected = twin.impression_bids(bids[hour] if hour < 2 else np.zeros_like(bids[0]))
        assert (action.bid_micros == expected).all()
        observation, _ = twin.step(action)


def test_bids_of_other_campaigns_are_refused(account):
    with pytest.raises(DataError, match="grid of the same estimates"):
        ScheduledBids("log", np.ones((3, 1, 1)), account.estimates)
