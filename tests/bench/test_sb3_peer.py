"""stable-baselines3 sees GAELP's environments unchanged, with its defaults or with settings like ours."""

import inspect

import numpy as np
import pytest
import torch

pytest.importorskip("stable_baselines3")

from stable_baselines3 import PPO

from gaelp.agents.networks import NetworkSpec
from gaelp.agents.ppo import PpoConfig
from gaelp.bench.sb3_peer import DefaultRun, VectorEnvAdapter, ppo_like
from gaelp.market.build import build_market, load_market_spec, load_persona_table
from gaelp.market.market import seeds_from
from gaelp.market.vector_env import AdMarketVectorEnv
from gaelp.training.price_level_rule import PriceLevelRule
from gaelp.training.segment_env import ResidualSpec, SegmentEnv


def built():
    return build_market(load_market_spec("calm"), load_persona_table("personas"))


def test_the_adapter_changes_nothing_and_hands_over_the_last_observation():
    plain, adapted = (AdMarketVectorEnv(3, market=built(), truncate_hours=2) for _ in range(2))
    adapter = VectorEnvAdapter(adapted, seed=5)
    assert (adapter.reset() == plain.reset(seed=5)[0]).all()
    actions = np.zeros(plain.action_space.shape, np.float32)
    for _ in range(2):
        obs, reward, _, truncated, info = plain.step(actions)
        stepped = adapter.step(actions)
        assert (stepped[0] == obs).all()
        assert (stepped[1] == reward).all()
        assert (stepped[2] == truncated).all()
    assert truncated.all()
    assert all(
        (info_of_row["terminal_observation"] == info["final_obs"][row]).all()
        for row, info_of_row in enumerate(stepped[3])
    )
    assert all(info_of_row["TimeLimit.truncated"] for info_of_row in stepped[3])
    assert adapter.get_attr("num_envs") == [3, 3, 3]
    assert adapter.env_is_wrapped(object, indices=1) == [False]


def test_like_ours_means_the_same_network_minibatch_epochs_and_steps():
    config = PpoConfig(network=NetworkSpec(hidden=(8, 4)), steps_per_update=5, epochs=2, minibatches=4)
    env = SegmentEnv(built(), PriceLevelRule(), ResidualSpec(), campaigns=2)
    training = ppo_like(config, env, seed=1)
    model = training.model
    assert training.frames_per_update == 5 * env.num_envs
    assert (model.n_steps, model.batch_size, model.n_epochs) == (5, 5 * env.num_envs // 4, 2)
    for net in (model.policy.mlp_extractor.policy_net, model.policy.mlp_extractor.value_net):
        assert [layer.out_features for layer in net[::2]] == [8, 4]
        assert isinstance(net[1], torch.nn.ReLU)
    before = model.policy.log_std.detach().clone()
    training.update()
    training.update()
    assert model.num_timesteps == 2 * training.frames_per_update
    assert not torch.equal(before, model.policy.log_std)


@pytest.fixture(scope="module")
def default_run():
    return DefaultRun(built(), campaigns=2, seed=1)


def test_the_default_run_has_the_settings_that_the_package_ships(default_run):
    model = default_run.policy().model
    shipped = inspect.signature(PPO).parameters
    for name in ("n_steps", "batch_size", "n_epochs", "gamma", "gae_lambda", "learning_rate", "ent_coef"):
        assert getattr(model, name) == shipped[name].default, name
    assert model.n_envs == 2


def test_the_policy_bids_what_its_environment_would_have_bid(default_run):
    policy, market, env = default_run.policy(), built(), AdMarketVectorEnv(4, market=built())
    obs, _ = env.reset(seed=3)
    stepped = market.reset(seeds_from(3, 4))
    policy.begin(market.brief)
    rewards = []
    for _ in range(3):
        obs, reward, *_ = env.step(policy.model.predict(obs, deterministic=True)[0])
        stepped, outcome = market.step(policy.act(stepped))
        rewards.append((reward, outcome.reward.copy()))
    assert all((ours == theirs).all() for ours, theirs in rewards)
    assert sum(reward.sum() for reward, _ in rewards) > 0
