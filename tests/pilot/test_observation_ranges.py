"""What training saw: the market's own campaigns are inside, a feature in other units is not."""

from dataclasses import replace

import numpy as np
import pytest

from gaelp.market.market import seeds_from
from gaelp.pilot.controller import Decision
from gaelp.pilot.observation_ranges import measure_ranges
from tests.market.from_reports.market_reports import build_policy
from tests.pilot.controlled import small_market


@pytest.fixture(scope="module")
def market():
    return small_market()


@pytest.fixture(scope="module")
def ranges(market):
    return measure_ranges(build_policy("mpc"), market, seed=3, campaigns=128)


def decisions(market, seed, change=lambda obs: obs):
    """What the policy saw of other campaigns of the same market, every few hours."""
    policy = build_policy("mpc")
    obs = market.reset(seeds_from(seed, 16))
    policy.begin(market.brief)
    while not market.done:
        if market.hour % 8 == 0:
            rows = np.arange(16)
            yield Decision(market.hour, rows, None, None, market.brief, change(obs), None)
        obs, _ = market.step(policy.act(obs))


def test_campaigns_of_the_market_are_inside(market, ranges):
    shares = [ranges.outside(decision) for decision in decisions(market, 4)]
    assert max(shares) < 0.02


def test_a_feature_in_other_units_is_outside_and_named(market, ranges):
    def in_units(obs):
        return replace(obs, cost_micros=obs.cost_micros * 1_000_000, price_level_log=obs.price_level_log + 14)

    later = list(decisions(market, 5, in_units))[3:]
    shares = [ranges.outside(decision) for decision in later]
    usual = [ranges.outside(decision) for decision in list(decisions(market, 5))[3:]]
    assert min(shares) > 5 * max(usual)
    unusual = set().union(*(ranges.most_unusual(decision) for decision in later))
    assert len(unusual) >= 2
