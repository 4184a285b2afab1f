"""The last 50 episodes are held against those before them."""

import math

import numpy as np
import pytest

from gaelp.errors import BadInput
from gaelp.market.baselines.steadiness import LAST_EPISODES, last_episodes_z


def rewards(runs, episodes, fall=0.0):
    """Rewards of many evaluations, shape (runs, episodes); `fall` is what the last 50 lose."""
    drawn = np.random.default_rng(5).beta(16, 2, (runs, episodes))
    drawn[:, -LAST_EPISODES:] -= fall
    return drawn


def test_a_steady_agent_rarely_exceeds_the_threshold():
    exceeded = np.mean([last_episodes_z(run) > 3 for run in rewards(4000, 200)])
    assert exceeded <= 0.008  # 0.3% were the parts normal; 50 skewed rewards add a little


def test_an_agent_that_decays_is_seen():
    spread = rewards(1, 100_000).std()
    share_noticed = np.mean([last_episodes_z(run) > 3 for run in rewards(500, 1000, fall=0.7 * spread)])
    assert share_noticed > 0.95


def test_the_figure_is_the_distance_in_standard_errors_whichever_way():
    before, after = np.tile([0.8, 0.9], 50), np.tile([0.7, 0.8], 25)
    error = math.sqrt(before.var(ddof=1) / 100 + after.var(ddof=1) / 50)
    falls = last_episodes_z(np.concatenate([before, after]))
    assert falls == pytest.approx(0.1 / error)
    assert last_episodes_z(1 - np.concatenate([before, after])) == pytest.approx(falls)


@pytest.mark.parametrize("reward", [0.0, 0.1, 0.7, 0.8])
def test_rewards_without_spread_are_steady_if_equal_and_endlessly_apart_if_not(reward):
    assert last_episodes_z(np.full(120, reward)) == 0
    assert last_episodes_z(np.repeat([reward, reward + 0.5], 50)) == math.inf


def test_a_reward_that_is_no_number_gives_a_figure_that_is_none():
    assert math.isnan(last_episodes_z(np.append(np.linspace(0, 1, 199), math.nan)))


@pytest.mark.parametrize(("shape", "last"), [((99,), 50), ((10, 100), 50), ((100,), 1)])
def test_too_few_episodes_are_refused(shape, last):
    with pytest.raises(BadInput, match="Evaluate more episodes"):
        last_episodes_z(np.zeros(shape), last)
