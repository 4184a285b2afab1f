"""The bidder of single auctions: its money lasts, and training is repeatable and starts from the rule."""

import numpy as np
import pytest

from gaelp.bench.auction_agent import WEIGHTS, AuctionAgent, price_table
from gaelp.bench.auction_training import TrainingSpec, draw_auctions, play_drawn, train_residual
from gaelp.errors import DataError
from gaelp.market.auction_log import AuctionLog
from gaelp.market.baselines.published import play_auctions
from gaelp.market.price_history import PriceHistory
from gaelp.market.replay import AuctionReplay

HISTORY = PriceHistory(np.bincount(np.random.default_rng(1).geometric(0.05, 5000)), clicks=20, micros_per_unit=10)


def replayed(weights, budget_units):
    rng = np.random.default_rng(2)
    auctions = 2000
    log = AuctionLog(
        price_micros=10 * rng.geometric(0.05, auctions),
        click=np.zeros(auctions, np.int8),
        click_probability=0.004 * rng.lognormal(0, 0.5, auctions),
        bid_micros=None,
        micros_per_unit=10,
    )
    replay = AuctionReplay(
        log, HISTORY, episode_auctions=500, budget_micros=10 * budget_units, click_value_micros=1_000_000
    )
    return play_auctions(replay, AuctionAgent("rule", HISTORY, weights)), replay


def test_the_money_lasts_to_the_end_and_is_spent():
    seen, replay = replayed(np.zeros(WEIGHTS), 2000)
    spent = seen.total_cost_micros.sum() / replay.brief.budget_micros.sum()
    assert 0.95 < spent <= 1
    _, poor = replayed(np.zeros(WEIGHTS), 500)
    assert poor.meter.value_micros.sum() < replay.meter.value_micros.sum()


def test_better_impressions_get_higher_bids():
    seen, replay = replayed(np.zeros(WEIGHTS), 500)
    won = replay.meter.value_micros.sum() / seen.total_impressions.sum()
    assert won > 1.1 * 1_000_000 * 0.004 * np.exp(0.125)


def test_weights_of_another_network_are_refused():
    with pytest.raises(DataError, match="Train them again"):
        AuctionAgent("rule", HISTORY, np.zeros(3))


def test_training_is_repeatable_and_returns_no_less_than_the_rule():
    spec = TrainingSpec(seed=5, generations=2, directions=2, episodes=10, auctions=50)
    gains = []
    first = train_residual(HISTORY, price_table(HISTORY), spec, lambda _, gain: gains.append(gain))
    assert (first == train_residual(HISTORY, price_table(HISTORY), spec)).all()
    if gains[-1] <= 0:
        assert not first.any()
    drawn = draw_auctions(HISTORY, 10, 50, np.random.default_rng(3))
    assert play_drawn(price_table(HISTORY), first, drawn).shape == (10,)
