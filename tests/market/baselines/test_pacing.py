from dataclasses import replace

import numpy as np
import pytest

from gaelp.market.baselines.pacing import Multiplicative, MultiplicativeParameters, Pid, PidParameters, relative_error


@pytest.mark.parametrize(
    ("bidder", "hour", "shares"),
    [
        (Pid(PidParameters(proportional=10, integral=0)), 10, (0.0, 0.2, 0.9)),
        (Multiplicative(MultiplicativeParameters()), 1, (0.0, 0.005, 0.02)),
    ],
)
def test_spending_ahead_of_plan_lowers_the_bids_and_behind_plan_raises_them(small_market, bidder, hour, shares):
    obs = small_market.observe()

    def bid_after(spent_share):
        bidder.begin(small_market.brief)
        bidder.act(obs)
        spent = (small_market.brief.budget_micros * spent_share).astype(np.int64)
        cost = np.stack([spent, np.zeros_like(spent)], axis=1)
        left = small_market.brief.budget_micros - spent
        observed = replace(obs, hour=np.full(3, hour), left_micros=left, cost_micros=cost)
        return bidder.act(observed).bid_micros

    little, some, much = (bid_after(share) for share in shares)
    assert (much < some).all()
    assert (some < little).all()


def test_the_integral_keeps_raising_the_price_while_spend_stays_ahead(small_market):
    bidder = Pid(PidParameters(proportional=0, integral=0.3))
    bidder.begin(small_market.brief)
    ahead = replace(small_market.observe(), left_micros=small_market.brief.budget_micros // 2)
    bids = [bidder.act(ahead).bid_micros for _ in range(3)]
    assert (bids[1] < bids[0]).all()
    assert (bids[2] < bids[1]).all()


def test_an_error_of_spend_is_relative_to_its_target_and_bounded(small_market):
    spent = np.array([[50, 60], [0, 0], [10**6, 0]])
    error = relative_error(replace(small_market.observe(), cost_micros=spent), np.array([100.0, 100.0, 100.0]))
    np.testing.assert_allclose(error, [0.1, -1.0, 2.0])
