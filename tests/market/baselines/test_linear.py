"""Lin and Mcpc bid in proportion to value: exactly as published in replay, by forecasts in the market."""

from dataclasses import replace

import numpy as np
import pytest

from gaelp.market.auction_log import AuctionLog
from gaelp.market.baselines.linear import Lin, Mcpc
from gaelp.market.price_history import PriceHistory
from gaelp.market.replay import AuctionReplay

HISTORY = PriceHistory(np.array([0, 40, 40, 20]), clicks=10, micros_per_unit=10)  # mean 18 micros, click rate 0.1


@pytest.fixture
def replay() -> AuctionReplay:
    log = AuctionLog(np.array([10, 20]), np.zeros(2, dtype=np.int8), np.array([0.2, 0.05]), None, 10)
    return AuctionReplay(log, HISTORY, episode_auctions=1, budget_micros=9, click_value_micros=7000)


@pytest.mark.parametrize(
    ("bidder", "bids"),
    [
        (Lin(base_bid_micros=33), [[66], [16]]),
        (Mcpc(click_cost_micros=500), [[100], [25]]),
        (Mcpc(click_cost_micros=500, aggression=np.log(2)), [[200], [50]]),
    ],
)
def test_bids_are_proportional_to_the_chance_of_a_click(
    replay: AuctionReplay, bidder: Lin | Mcpc, bids: list[list[int]]
) -> None:
    bidder.begin(replay.brief)
    actual_bids = bidder.act(replay.reset()).bid_micros
    assert actual_bids.tolist() == bids


def test_mcpc_without_a_limit_pays_the_forecast_price_for_an_average_click(replay: AuctionReplay) -> None:
    bidder = Mcpc()
    bidder.begin(replay.brief)
    assert bidder.act(replay.reset()).bid_micros == pytest.approx(np.array([[36], [9]]), abs=1)


def test_lin_without_a_base_bid_follows_forecast_price_and_budget(replay: AuctionReplay) -> None:
    brief = replay.brief
    assert brief.budget_share == pytest.approx(0.5)
    obs = replace(replay.reset(), known_value_log=None)  # every value is the average
    bids = []
    for base_log, exponent in ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0)):
        bidder = Lin(base_log=base_log, share_exponent=exponent)
        bidder.begin(brief)
        bids.append(bidder.act(obs).bid_micros[0, 0])
    assert bids == pytest.approx([18, 18 * np.e, 18 * np.e / 2], abs=1)
