"""Without a heuristic the bid is the running price level, in any market and whatever is left to spend."""

import numpy as np

from gaelp.market.baselines.episodes import held_out_seeds, play
from gaelp.training.price_level_rule import PriceLevelRule


def test_every_segment_bids_its_price_level_to_the_micro(ground):
    rule, obs = PriceLevelRule(), ground.market.reset(held_out_seeds(1, 4))
    rule.begin(ground.market.brief)
    for _ in range(5):
        action = rule.act(obs)
        assert action.bid_micros.dtype == np.int64
        assert np.abs(action.bid_micros - np.exp(obs.price_level_log.astype(np.float64))).max() <= 0.5
        assert action.bid_micros.shape == (4, 2)
        obs, _ = ground.market.step(action)


def test_it_wins_something_and_leaves_room_to_learn(ground):
    level = play(ground.market, PriceLevelRule(), held_out_seeds(1, 32)).reward.mean()
    rule = play(ground.market, ground.rule(), held_out_seeds(1, 32)).reward.mean()
    assert 0.1 < level < rule - 0.05
