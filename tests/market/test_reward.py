"""One reward: a share of the hindsight optimum, the same in market and replay."""

import ast
from pathlib import Path

import numpy as np
import pytest

import gaelp
from gaelp.config.objective import VALUE, Objective
from gaelp.market.market import seeds_from
from gaelp.market.reward import RewardMeter, headroom_share, optimum_share, reward, reward_scale
from gaelp.market.view import Action


def test_a_reward_of_one_is_the_hindsight_optimum():
    assert reward(np.array([5.0, 2.0, 0.0]), np.array([5.0, 8.0, 3.0])).tolist() == [1.0, 0.25, 0.0]


def test_where_nothing_could_be_won_the_reward_is_zero():
    assert reward(np.array([0.0, 4.0]), np.array([0.0, 4.0])).tolist() == [0.0, 1.0]


def test_the_parts_of_a_campaign_share_its_optimum():
    parts = np.array([[1.0, 2.0], [0.0, 0.0]])
    assert reward(parts, np.array([[4.0], [0.0]])).tolist() == [[0.25, 0.5], [0.0, 0.0]]


def test_the_market_pays_it_for_the_value_of_the_hour(make_market):
    market = make_market()
    obs = market.reset(seeds_from(6, 20))
    _, outcome = market.step(Action(np.rint(np.exp(obs.price_level_log)).astype(np.int64)))
    assert outcome.reward.any()
    assert outcome.reward.dtype == np.float32
    expected = reward(outcome.value_micros.sum(axis=1), market.world.optimum_micros)
    assert outcome.reward == pytest.approx(expected, rel=1e-6)


PROFIT = Objective(kind="profit")
OBJECTIVES = [VALUE, PROFIT, Objective(kind="target_roas", target_roas=3)]


def test_with_zero_optima_the_mean_reward_is_the_sum_of_the_objective_over_the_sum_of_optima():
    optimum, achieved, budget = np.array([0.0, 3.0, 9.0]), np.array([-1.0, 2.0, 8.0]), np.array([50, 50, 50])
    rewards = reward(achieved, reward_scale(PROFIT, optimum, budget))
    assert rewards.mean() == pytest.approx(9 / 12)
    assert rewards[0] < 0  # a loss where nothing was to be won counts
    assert reward_scale(VALUE, optimum, budget) is optimum
    assert optimum_share(PROFIT, optimum, budget).mean() == pytest.approx(1)
    assert optimum_share(VALUE, optimum, budget) is None


def test_a_loss_counts_where_no_campaign_should_spend():
    optimum, budget = np.zeros(2), np.array([100, 300])
    assert reward_scale(PROFIT, optimum, budget).tolist() == pytest.approx([0.2, 0.2])


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda objective: objective.key)
def test_the_rewards_of_the_hours_add_up_to_what_the_flight_achieves(make_market, random_action, objective):
    market = make_market(objective)
    market.reset(seeds_from(6, 40))
    total, value, cost = np.zeros((3, 40))
    rng = np.random.default_rng(0)
    while not market.done:
        obs, outcome = market.step(random_action(market, rng))
        total += outcome.reward
        value += outcome.value_micros.sum(axis=1)
        cost += obs.cost_micros.sum(axis=1)
    assert market.meter.value_micros == pytest.approx(value)
    assert market.meter.cost_micros == pytest.approx(cost)
    whole = RewardMeter(
        objective, market.world.optimum_micros, market.brief.budget_micros, market.brief.conversion_value_micros
    ).add(value, market.brief.budget_micros - cost.astype(np.int64))
    assert total == pytest.approx(whole, rel=1e-4, abs=1e-5)


def test_headroom_is_the_share_of_the_way_from_constant_to_perfect():
    assert headroom_share(0.9, 0.8) == pytest.approx(0.5)
    assert headroom_share(0.8, 0.8) == 0
    assert headroom_share(1.0, 0.8) == pytest.approx(1.0)


def test_nothing_else_in_the_product_divides_by_an_optimum():
    dividing = [
        path.name
        for path in Path(gaelp.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if _divides_by_an_optimum(node)
    ]
    assert dividing == ["reward.py"]


def _divides_by_an_optimum(node):
    match node:
        case ast.BinOp(op=ast.Div(), right=divisor):
            return "optimum" in ast.unparse(divisor)
        case ast.Call(func=ast.Attribute(attr="divide"), args=[_, divisor, *_]):
            return "optimum" in ast.unparse(divisor)
    return False
