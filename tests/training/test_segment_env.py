"""A learner shared across segments sees one row a segment, and with nothing to say it plays the rule unchanged."""

import numpy as np
import pytest
import torch

from gaelp.config.objective import Objective
from gaelp.experience.collect import Collector
from gaelp.market.baselines import CATALOG, held_out_seeds, load_tuned, play, training_seeds
from gaelp.market.build import build_market, load_market_spec, load_persona_table
from gaelp.market.spec import ReportSpec
from gaelp.training.segment_env import EXTRA_FEATURES, ResidualSpec, SegmentEnv, SegmentFeatures, residuals
from gaelp.training.segment_policy import SegmentPolicy

CONTINUOUS, DISCRETE = ResidualSpec(), ResidualSpec(actions="discrete")


@pytest.fixture(scope="module")
def market():
    return build_market(load_market_spec("calm"), load_persona_table("personas"))


@pytest.fixture
def rule(market):
    return load_tuned(market).build("mpc")


def nothing(env):
    if env.residual.actions == "discrete":
        return np.full(env.num_envs, env.residual.choices // 2)
    return np.zeros((env.num_envs, 1), np.float32)


@pytest.mark.parametrize("spec", [CONTINUOUS, DISCRETE], ids=["continuous", "discrete"])
def test_without_residuals_the_rule_is_played(market, rule, spec):
    env = SegmentEnv(market, rule, spec, campaigns=6)
    env.reset(seed=3)
    for _ in range(market.hours):
        info = env.step(nothing(env))[4]
    expected = play(market, rule, training_seeds(3, 6)).reward
    assert np.allclose(info["market_reward"], expected, atol=1e-6)


def test_rows_are_segments_and_episodes_end_together(market, rule):
    env = SegmentEnv(market, rule, CONTINUOUS, campaigns=5)
    obs, _ = env.reset(seed=3)
    assert obs.shape == (5 * market.spec.segments, SegmentFeatures.size()) == env.observation_space.shape
    for _ in range(market.hours - 1):
        obs, _, terminated, truncated, info = env.step(nothing(env))
        assert not (terminated | truncated).any()
        assert not info
    assert env.observation_space.contains(obs)
    obs, _, terminated, _, info = env.step(nothing(env))
    assert terminated.all()
    assert env.finished_rewards == [pytest.approx(info["market_reward"].mean())]
    assert (info["final_obs"][:, 0] == 1).all()
    assert (obs[:, 0] == 0).all()


def test_row_rewards_are_value_less_the_price_of_what_was_spent(market, rule):
    env = SegmentEnv(market, rule, ResidualSpec(budget_price="flight", budget_price_share=0.5), campaigns=4)
    env.reset(seed=1)
    for _ in range(3):
        _, reward, *_ = env.step(nothing(env))
    world, state = market.world, market.state
    price = np.exp(world.budget_price_log[:, 0])[:, None]
    surplus = (state.value_micros - 0.5 * price * state.cost_micros) / world.optimum_micros[:, None]
    assert np.allclose(reward, 20 * surplus.reshape(-1), rtol=1e-5)


def test_row_rewards_count_what_was_spent_and_not_what_is_reported_yet(market, rule):
    late = market.spec.model_copy(update={"reports": ReportSpec(lag_hours=6, invalid_share=0.1)})
    prompt, late = (
        SegmentEnv(build_market(spec, market.personas), rule, ResidualSpec(budget_price="flight"), campaigns=4)
        for spec in (market.spec, late)
    )
    rewards = []
    for env in (prompt, late):
        env.reset(seed=3)
        rewards.append(env.step(nothing(env))[1])
    assert np.array_equal(*rewards)


def test_centred_residuals_leave_the_mean_bid_alone():
    actions = np.random.default_rng(0).uniform(-2, 2, (12, 1))
    assert np.allclose(residuals(ResidualSpec(centred=True), actions, (3, 4)).mean(axis=1), 0)
    assert np.abs(residuals(ResidualSpec(centred=False), actions, (3, 4))).max() == pytest.approx(1.8)


def test_discrete_choices_span_the_same_range_and_the_middle_is_nothing():
    change = residuals(ResidualSpec(actions="discrete"), np.arange(9), (9, 1))
    assert change[4] == 0
    assert (change[0], change[-1]) == (pytest.approx(-1.8), pytest.approx(1.8))


def test_spend_is_charged_the_price_of_what_is_left(market, rule):
    rewards = {}
    for kind in ("flight", "remaining"):
        env = SegmentEnv(market, rule, ResidualSpec(budget_price=kind), campaigns=8)
        env.reset(seed=1)
        half_spent = market.state.left_micros // 2
        market.state.left_micros[:] = half_spent
        rewards[kind] = env.step(nothing(env))[1]
    assert rewards["remaining"].sum() < rewards["flight"].sum()  # with half the money gone, what is left is dear


def test_the_rule_is_among_the_features(market, rule):
    obs = market.reset(held_out_seeds(1, 3))
    rule.begin(market.brief)
    bids = rule.act(obs).bid_micros
    rows = SegmentFeatures(market.brief)(obs, bids, np.zeros(bids.shape))
    extra = rows[:, -len(EXTRA_FEATURES) :].reshape(3, market.spec.segments, -1)
    assert np.allclose(extra[..., 0], np.log(bids) - obs.price_level_log, atol=1e-4)
    assert np.allclose(extra[..., 1].mean(axis=1), 0, atol=1e-5)


def test_a_policy_of_zeros_is_the_rule_on_held_out_episodes(market, rule):
    policy = SegmentPolicy("agent", rule, CONTINUOUS, lambda rows: torch.zeros(len(rows), 1))
    seeds = held_out_seeds(1, 8)
    played = play(market, policy, seeds).reward
    assert np.allclose(played, play(market, rule, seeds).reward, atol=1e-6)


def test_the_collector_drives_it_like_any_vector_environment(market, rule):
    collector = Collector(SegmentEnv(market, rule, CONTINUOUS, campaigns=4), seed=2)
    for _ in range(market.hours):
        step = collector.step(lambda obs: torch.zeros(len(obs), 1))
    assert step.terminated.all()
    assert len(step.finished_returns) == 4 * market.spec.segments
    assert (step.next_obs[:, 0] == 1).all()


@pytest.mark.parametrize("text", ["profit", "target_roas"])
def test_other_objectives_charge_at_least_their_own_price_and_share_one_denominator(text):
    objective = Objective(kind=text, target_roas=6 if text == "target_roas" else None)
    market = build_market(load_market_spec("calm"), load_persona_table("personas"), objective)
    env = SegmentEnv(market, CATALOG[-2].build(), ResidualSpec(budget_price="flight"), campaigns=8)
    obs, _ = env.reset(seed=1)
    assert obs.shape == (env.num_envs, SegmentFeatures.size() + 2) == env.observation_space.shape
    asked = np.exp(market.world.objective_price_log)
    assert (asked > 0).any()
    price = np.maximum(0.9 * np.exp(market.world.budget_price_log[:, 0]), asked)[:, None]
    scale = market.world.optimum_micros.mean()
    _, rewards, *_ = env.step(nothing(env))
    surplus = (market.state.value_micros - price * market.state.cost_micros) / scale
    assert rewards.reshape(8, -1) == pytest.approx(20 * surplus, rel=1e-4, abs=1e-6)
