"""The market behaves as Gymnasium says an environment and a vector environment behave."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from gaelp.errors import ActionError, BadInput, ConfigError, DataError
from gaelp.market import ENVIRONMENT_ID
from gaelp.market.env import AdMarketEnv
from gaelp.market.vector_env import AdMarketVectorEnv


@pytest.fixture
def short(make_market):
    return make_market(days=1, segments=3)


def batch(env, value=0.3):
    return np.full(env.action_space.shape, value, np.float32)


@pytest.mark.parametrize("actions", ["continuous", "discrete"])
def test_the_registered_environment_passes_gymnasiums_checker(actions):
    env = gym.make(ENVIRONMENT_ID, market="cal", actions=actions)
    check_env(env.unwrapped)


def test_make_vec_gives_the_native_batch():
    env = gym.make_vec(ENVIRONMENT_ID, num_envs=5, vectorization_mode="vector_entry_point", market="calm")
    assert isinstance(env.unwrapped, AdMarketVectorEnv)
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    obs, _ = env.reset(seed=1)
    assert env.observation_space.contains(obs)


def test_an_episode_ends_terminated_and_the_next_begins_in_the_same_step(short):
    env = AdMarketVectorEnv(4, market=short)
    env.reset(seed=1)
    for _ in range(23):
        _, _, terminated, truncated, info = env.step(batch(env))
        assert not terminated.any()
        assert not truncated.any()
        assert "final_obs" not in info
    obs, _, terminated, truncated, info = env.step(batch(env))
    assert terminated.all()
    assert not truncated.any()
    assert (obs[:, 0] == 0).all()
    assert (info["final_obs"][:, 0] == 1).all()
    assert set(info["final_info"]) >= {"spend_micros", "pending_conversions", "lost_to_window"}
    first = AdMarketVectorEnv(4, market=short)
    first.reset(seed=1)
    assert not np.array_equal(first.reset()[0], first.reset(seed=1)[0])
    assert np.array_equal(first.reset()[0], obs)


def test_a_flight_cut_short_is_truncated_not_terminated(short):
    env = AdMarketVectorEnv(4, market=short, truncate_hours=5)
    env.reset(seed=1)
    for _ in range(5):
        obs, _, terminated, truncated, info = env.step(batch(env))
    assert truncated.all()
    assert not terminated.any()
    assert info["final_obs"][0, 0] == pytest.approx(5 / 24)
    assert (obs[:, 0] == 0).all()


def test_rewards_of_an_episode_are_its_value_over_the_optimum(short):
    env = AdMarketVectorEnv(4, market=short)
    env.reset(seed=1)
    rewards, values = np.zeros(4), np.zeros(4)
    for _ in range(23):
        _, reward, *_ = env.step(batch(env))
        rewards += reward
        values += env.market.state.value_micros.sum(axis=1)
    assert np.allclose(rewards, values / env.market.world.optimum_micros, rtol=1e-5)
    assert (rewards > 0.2).all()


def test_single_environment_and_batch_of_one_agree(short):
    single, many = AdMarketEnv(market=short), AdMarketVectorEnv(1, market=short)
    one, all_of_one = single.reset(seed=7)[0], many.reset(seed=7)[0]
    assert np.array_equal(one, all_of_one[0])
    for _ in range(23):
        # Both drive the same market object: the single one is played first, the batch over the same seed after it.
        single.step(batch(many)[0])
    last_single = single.step(batch(many)[0])[0]
    many.reset(seed=7)
    for _ in range(24):
        info = many.step(batch(many))[4]
    assert np.array_equal(last_single, info["final_obs"][0])


def test_a_saved_environment_continues_bit_for_bit(make_market, everything_spec):
    env = AdMarketVectorEnv(3, market=make_market(**everything_spec))
    env.reset(seed=4)
    for _ in range(80):
        env.step(batch(env))
    saved = env.save()
    ahead = [env.step(batch(env))[:2] for _ in range(90)]
    other = AdMarketVectorEnv(3, market=make_market(**everything_spec))
    other.restore(saved)
    for obs, reward in ahead:
        again = other.step(batch(other))
        assert np.array_equal(again[0], obs)
        assert np.array_equal(again[1], reward)


def test_returned_arrays_are_the_callers_own(short):
    env = AdMarketVectorEnv(2, market=short)
    first, _ = env.reset(seed=1)
    kept = first.copy()
    _, reward, *_ = env.step(batch(env))
    kept_reward = reward.copy()
    env.step(batch(env, -0.5))
    assert np.array_equal(first, kept)
    assert np.array_equal(reward, kept_reward)


def test_bad_arguments_are_refused(short):
    with pytest.raises(ConfigError, match="truncate_hours=25"):
        AdMarketVectorEnv(2, market=short, truncate_hours=25)
    with pytest.raises(ConfigError, match="'sideways'"):
        AdMarketVectorEnv(2, market=short, actions="sideways")
    with pytest.raises(DataError, match="'no-such-market' not found"):
        AdMarketVectorEnv(2, market="no-such-market")
    env = AdMarketVectorEnv(2, market=short)
    env.reset(seed=0)
    with pytest.raises(ActionError, match=r"action\[1, 0\] is nan"):
        env.step(np.array([[0, 0, 0, 0], [np.nan, 0, 0, 0]], np.float32))


def test_a_step_without_an_episode_is_refused_as_gymnasium_says(short):
    for env in (AdMarketVectorEnv(2, market=short), AdMarketEnv(market=short)):
        with pytest.raises(gym.error.ResetNeeded, match=r"call reset\(\)"):
            env.step(env.action_space.sample())
    with pytest.raises(gym.error.ResetNeeded, match=r"before save\(\)"):
        AdMarketVectorEnv(2, market=short).save()


@pytest.mark.parametrize("hours", [None, 3])
def test_a_single_environment_does_not_play_on_after_its_end(short, hours):
    env = AdMarketEnv(market=short, truncate_hours=hours)
    env.reset(seed=1)
    ended = False
    while not ended:
        _, _, terminated, truncated, _ = env.step(np.zeros(env.action_space.shape, np.float32))
        ended = terminated or truncated
    with pytest.raises(gym.error.ResetNeeded, match="the episode is over"):
        env.step(np.zeros(env.action_space.shape, np.float32))
    env.reset()
    assert env.step(np.zeros(env.action_space.shape, np.float32))[0].shape == env.observation_space.shape


def test_one_seed_a_campaign_plays_each_as_it_would_alone(short):
    seeds = [11, 5, 2**40]
    many = AdMarketVectorEnv(3, market=short)
    first, _ = many.reset(seed=seeds)
    for _ in range(24):
        second = many.step(batch(many))[0]
    for i, seed in enumerate(seeds):
        alone = AdMarketVectorEnv(1, market=short)
        assert np.array_equal(alone.reset(seed=seed)[0][0], first[i])
        assert np.array_equal(alone.reset()[0][0], second[i])
    assert np.array_equal(many.reset(seed=np.array(seeds))[0], first)
    assert np.array_equal(many.reset(seed=tuple(reversed(seeds)))[0], first[::-1])


def test_seeds_of_their_own_are_saved_and_restored(short):
    env, other = AdMarketVectorEnv(2, market=short), AdMarketVectorEnv(2, market=short)
    env.reset(seed=[3, 4])
    saved = env.save()
    ahead = [env.step(batch(env))[0] for _ in range(30)]
    other.restore(saved)
    for obs in ahead:
        assert np.array_equal(other.step(batch(other))[0], obs)


@pytest.mark.parametrize("seed", [[1], [1, 2, 3], [], [1, -1], [1, None], [1, 0.5], -1, 1.5, 2**63, True, "ab"])
def test_seeds_that_fit_no_campaign_are_refused(short, seed):
    env = AdMarketVectorEnv(2, market=short)
    with pytest.raises(BadInput, match=r"allowed: (one|a whole number)"):
        env.reset(seed=seed)


@pytest.mark.parametrize("count", [0, -1])
def test_an_environment_without_campaigns_is_refused(short, count):
    with pytest.raises(ConfigError, match=f"num_envs={count} is too few"):
        AdMarketVectorEnv(count, market=short)


def test_an_environment_pays_the_objective_it_is_named_and_shows_its_slack():
    value, profit = (AdMarketVectorEnv(3, market="calm", objective=text) for text in (None, "profit"))
    assert profit.single_observation_space.shape[0] == value.single_observation_space.shape[0] + 2
    assert profit.market.objective.kind == "profit"
    profit.reset(seed=3)
    rng = np.random.default_rng(0)
    total, ended = np.zeros(3), False
    while not ended:
        _, reward, terminated, _, info = profit.step(rng.uniform(-1, 1, profit.action_space.shape))
        total += reward
        ended = terminated.all()
    final = info["final_info"]
    assert final["achieved_micros"] == pytest.approx(final["value_micros"] - final["spend_micros"])
    assert total == pytest.approx(final["achieved_micros"] / final["optimum_micros"].mean(), rel=1e-4, abs=1e-5)
    with pytest.raises(ConfigError, match="give its name, or only the market"):
        AdMarketVectorEnv(3, market=profit.market, objective="value")
