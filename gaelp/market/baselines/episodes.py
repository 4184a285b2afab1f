"""Play whole episodes: seeds that keep training and evaluation apart, and what a policy earns."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gaelp.arrays import Floats, Ints, Uints
from gaelp.config.objective import Objective, is_value
from gaelp.market.baselines.bids import Bidder
from gaelp.market.baselines.campaign_outcomes import launch_properties
from gaelp.market.episode_log import EpisodeWatcher
from gaelp.market.market import Market, seeds_from
from gaelp.market.policy_state import CHOSEN
from gaelp.market.reward import reward as share_of
from gaelp.market.reward import reward_scale

__all__ = ["Played", "held_out_seeds", "join_played", "play", "training_seeds", "validation_seeds"]


_ONE = np.uint64(1)


class Played(NamedTuple):
    """What N episodes brought, (N,) each but for `launch`."""

    reward: Floats
    budget_used: Floats
    achieved_micros: Floats  # of the objective
    optimum_micros: Floats
    budget_micros: Ints
    value_micros: Floats
    cost_micros: Floats
    conversions: Floats  # expected: value over the campaign's conversion value
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


def play(market: Market, policy: Bidder, seeds: Uints, watcher: EpisodeWatcher | None = None) -> Played:
    """Run one episode for each seed to its end; a watcher sees every hour."""
    obs = market.reset(seeds)
    policy.begin(market.brief)
    reward = np.zeros(len(seeds))
    if watcher:
        watcher.begin(market)
    while not market.done:
        action = policy.act(obs)
        left_micros = market.state.left_micros.copy() if watcher else None
        obs, outcome = market.step(action)
        reward += outcome.reward
        if watcher and left_micros is not None:
            watcher.hour(market, action, left_micros, policy.state().get(CHOSEN))
    if watcher:
        watcher.end(market, reward)
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
        launch_properties(brief),
    )


def join_played(parts: Sequence[Played], objective: Objective) -> Played:
    """Join batches, with rewards relative to the optima of all of them where a single optimum can be 0."""
    played = Played(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    if is_value(objective):
        return played
    scale = reward_scale(objective, played.optimum_micros, played.budget_micros)
    return played._replace(reward=share_of(played.achieved_micros, scale))
