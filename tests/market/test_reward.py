"""One reward: a share of the hindsight optimum, the same in market and replay."""

import ast
from pathlib import Path

import numpy as np
import pytest

import gaelp
from gaelp.market.market import seeds_from
from gaelp.market.reward import headroom_share, reward
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
