"""Play whole episodes: seeds that keep training and evaluation apart, and what a policy earns."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gaelp.arrays import Floats, Ints, Uints
from gaelp.config.objective import Objective, is_value
from gaelp.market.baselines.bids import Bidder
from gaelp.market.market import Market, seeds_from
from gaelp.market.reward import reward as share_of
from gaelp.market.reward import reward_scale

__all__ = ["Played", "held_out_seeds", "join_played", "play", "training_seeds", "validation_seeds"]


_ONE = np.uint64(1)


class Played(NamedTuple):
    """What N episodes brought, (N,) each."""

    reward: Floats
    budget_used: Floats
    achieved_micros: Floats  # of the objective
    optimum_micros: Floats
    budget_micros: Ints
    value_micros: Floats
    cost_micros: Floats
    conversions: Floats  # expected: value over the campaign's conversion value


def training_seeds(seed: int, campaigns: int, batch: int = 0) -> Uints:
    """Episodes to tune and train on: even seeds, so that none is ever held out."""
    return seeds_from(seed, campaigns, batch) & ~_ONE


def held_out_seeds(seed: int, campaigns: int, batch: int = 0) -> Uints:
    """Episodes to judge on: odd seeds, so that none was ever trained on."""
    return seeds_from(seed, campaigns, batch) | _ONE


def validation_seeds(seed: int, campaigns: int) -> Uints:
    """Episodes to choose between checkpoints on: odd seeds too, another batch than the one that judges the choice."""
    return held_out_seeds(seed, campaigns, batch=1)


def play(market: Market, policy: Bidder, seeds: Uints) -> Played:
    """Run one episode for each seed to its end."""
    obs = market.reset(seeds)
    policy.begin(market.brief)
    reward = np.zeros(len(seeds))
    while not market.done:
        obs, outcome = market.step(policy.act(obs))
        reward += outcome.reward
    meter, brief = market.meter, market.brief
    return Played(
        reward,
        1.0 - obs.left_micros / brief.budget_micros,
        meter.achieved_micros().copy(),
        meter.optimum_micros,
        brief.budget_micros,
        meter.value_micros,
        meter.cost_micros,
        meter.value_micros / brief.conversion_value_micros,
    )


def join_played(parts: Sequence[Played], objective: Objective) -> Played:
    """Join batches, with rewards relative to the optima of all of them where a single optimum can be 0."""
    played = Played(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    if is_value(objective):
        return played
    scale = reward_scale(objective, played.optimum_micros, played.budget_micros)
    return played._replace(reward=share_of(played.achieved_micros, scale))
