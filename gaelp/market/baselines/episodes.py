"""Play whole episodes: seeds that keep training and evaluation apart, and what a policy earns."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gaelp.arrays import Floats, Uints
from gaelp.market.baselines.bids import Bidder
from gaelp.market.baselines.campaign_outcomes import launch_properties
from gaelp.market.market import Market, seeds_from

__all__ = ["Played", "held_out_seeds", "join_played", "play", "training_seeds", "validation_seeds"]


_ONE = np.uint64(1)


class Played(NamedTuple):
    """What N episodes brought, (N,) each but for `launch`."""

    reward: Floats
    budget_used: Floats
    launch: Floats  # (N, 5) what was known at launch, see `launch_properties`


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
    return Played(
        reward,
        1.0 - obs.left_micros / market.brief.budget_micros,
        launch_properties(market.brief),
    )


def join_played(parts: Sequence[Played]) -> Played:
    """Join batches of episodes."""
    return Played(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
