"""The price of money that an objective asks of a rule, whatever the budget."""

from dataclasses import replace

import numpy as np
import pytest

from gaelp.config.objective import VALUE, Objective
from gaelp.market.baselines.catalog import CATALOG
from gaelp.market.baselines.episodes import join_played, play, training_seeds
from gaelp.market.baselines.objective_price import (
    bought_micros,
    objective_price_log,
    within_objective,
    worth_within_objective,
)

PROFIT = Objective(kind="profit")
ROAS = Objective(kind="target_roas", target_roas=4)
POOR = {"response": {"conversion_value_log_sd": 1.2}, "budget": {"share_low": 0.3, "share_high": 0.9}}
CAREFUL = ("mcpc", "lin", "rlb", "pid", "eb-pacing", "online-lp", "mpc", "online-lp-informed", "mpc-informed")


def with_objective(market, objective):
    return replace(market.brief, objective=objective)


def seen(market, impressions, cost):
    obs = market.observe()
    return replace(
        obs,
        total_impressions=np.full_like(obs.total_impressions, impressions),
        total_cost_micros=np.full_like(obs.total_cost_micros, cost),
    )


def test_value_asks_for_nothing_and_profit_for_a_price_of_one(small_market):
    obs, value_log = small_market.observe(), np.zeros((3, 2))
    price_log = np.array([-2.0, 0.5, 3.0])
    assert objective_price_log(small_market.brief, obs, value_log) is None
    assert within_objective(small_market.brief, obs, value_log, price_log) is price_log
    brief = with_objective(small_market, PROFIT)
    assert within_objective(brief, obs, value_log, price_log).tolist() == [0.0, 0.5, 3.0]


def test_a_missed_target_raises_the_price_and_slack_lowers_it_but_never_above_the_target(small_market):
    brief = with_objective(small_market, ROAS)
    worth_one = np.full((3, 2), np.log(1e9))
    prices = [
        objective_price_log(brief, seen(small_market, 10**4, cost), worth_one)
        for cost in (1e13 / 16, 1e13 / 4, 1e13 / 3.8, 1e13)
    ]
    assert (np.diff(prices, axis=0) >= 0).all()
    assert np.allclose(prices[1], np.log(4 * 0.5))  # on target: half of it
    assert np.allclose(prices[3], np.log(4))


def test_what_was_bought_is_counted_at_todays_estimates(small_market):
    obs = seen(small_market, 3, 0)
    assert bought_micros(obs, np.log([[2.0, 5.0]] * 3)).tolist() == pytest.approx([21.0] * 3)


def test_a_bid_in_micros_is_lowered_to_what_profit_allows(small_market):
    obs, value_log = small_market.observe(), np.log([[2.0, 5.0]] * 3)
    worth = np.full((3, 2), 4.0)
    assert worth_within_objective(small_market.brief, obs, value_log, worth) is worth
    assert worth_within_objective(with_objective(small_market, PROFIT), obs, value_log, worth)[0].tolist() == [2.0, 4.0]


@pytest.fixture(scope="module")
def outcomes(make_market):
    """Every careful rule with its defaults on campaigns of which many should not spend their budget."""
    results = {}
    for objective in (VALUE, PROFIT, ROAS):
        market = make_market(objective, days=2, segments=4, **POOR)
        for kind in CATALOG:
            if kind.key in CAREFUL:
                played = play(market, kind.build(), training_seeds(4, 60))
                results[objective.key, kind.key] = join_played([played], objective)
    return results


@pytest.mark.parametrize("key", CAREFUL)
def test_a_rule_given_the_objective_makes_more_profit_with_less_money(outcomes, key):
    blind, aware = outcomes["value", key], outcomes["profit", key]
    assert (aware.value_micros - aware.cost_micros).sum() >= (blind.value_micros - blind.cost_micros).sum()
    assert aware.cost_micros.sum() < blind.cost_micros.sum()


@pytest.mark.parametrize("key", CAREFUL)
def test_a_rule_given_a_target_return_comes_nearer_to_it(outcomes, key):
    blind, aware = outcomes["value", key], outcomes["roas-4", key]
    missing = [np.maximum(4 * played.cost_micros - played.value_micros, 0).sum() for played in (blind, aware)]
    assert missing[1] < 0.5 * missing[0]
    assert aware.reward.mean() <= 1.01
