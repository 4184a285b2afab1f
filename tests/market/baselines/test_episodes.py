import numpy as np

from gaelp.market.baselines.catalog import CONSTANT
from gaelp.market.baselines.episodes import held_out_seeds, play, training_seeds


def test_no_episode_is_ever_both_trained_on_and_held_out():
    training = np.concatenate([training_seeds(seed, 500, batch) for seed in range(3) for batch in range(3)])
    held_out = np.concatenate([held_out_seeds(seed, 500, batch) for seed in range(3) for batch in range(3)])
    assert not (training & np.uint64(1)).any()
    assert (held_out & np.uint64(1)).all()
    assert len(np.unique(training)) == len(training)
    assert len(np.unique(held_out)) == len(held_out)


def test_an_episode_is_the_same_whatever_the_size_of_its_batch(small_market):
    seeds = held_out_seeds(1, 12)
    together = play(small_market, CONSTANT.build(), seeds)
    apart = [play(small_market, CONSTANT.build(), seeds[i : i + 5]) for i in range(0, 12, 5)]
    np.testing.assert_array_equal(together.reward, np.concatenate([part.reward for part in apart]))
    np.testing.assert_array_equal(together.budget_used, np.concatenate([part.budget_used for part in apart]))
